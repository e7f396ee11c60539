"""From a Tensor to an array of another library: `dlx.convert`."""
