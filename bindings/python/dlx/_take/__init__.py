"""From objects of other libraries, and from memory, to a Tensor: asarray, from_pointer, empty."""
