"""`python -m dlx`."""
