"""The C library as Python values: finding and loading it, its functions and its constants."""
