"""What `dlx.raw` is made of: the C API with its own names."""
