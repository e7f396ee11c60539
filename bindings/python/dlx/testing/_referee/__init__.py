"""The judge: checks of DLPack producers, consumers and exchange tables, written with ctypes only.

Nothing here imports dlx, so that a fault of dlx cannot hide one. `worker.py` loads this folder as
the package `dlx_referee` in processes of their own; `dlx.testing` loads it as a part of itself.
"""
