"""Tensors in memory that several processes see: `dlx.share`."""
