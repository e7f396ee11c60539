"""The methods of `dlx.Tensor` that are written in Python."""
