"""Computing with Tensors: by NumPy on the CPU, by the library of a GPU there."""
