"""From objects of other libraries, and from memory, to a Tensor: `asarray` and its like."""
