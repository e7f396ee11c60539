"""The second runtime of a process: Rust and Go as shared libraries, Lua by lupa, Java by JPype.

Each object here has the same methods. `take` imports a DLManagedTensorVersioned and returns what stands for
the tensor there, `give` exports a tensor (2, 3) of float32 on memory of that runtime."""

from __future__ import annotations

import ctypes
import os
import threading
from typing import Any

LIBRARY = os.environ.get("DLX_TWO_LIBRARY", "libdlx.so.1")


class Compiled:
    """Rust or Go: DLX_TWO_RUST and DLX_TWO_GO name the shared library."""

    def __init__(self, path: str) -> None:
        library = ctypes.CDLL(path)
        pointer, result = (
            ctypes.c_void_p,
            {"rt_sum": ctypes.c_double, "rt_released": ctypes.c_int64},
        )
        for name in (
            "take",
            "give",
            "given",
            "address",
            "sum",
            "drop",
            "drop_on_thread",
            "released",
        ):
            function = getattr(library, f"rt_{name}")
            function.restype = result.get(f"rt_{name}", pointer)
            function.argtypes = [] if name in ("give", "given", "released") else [pointer]
            setattr(self, name, function)


class Lua:
    """dlx owns the memory; its deleter is counted by Python."""

    def __init__(self) -> None:
        from lupa import luajit21  # type: ignore[import-not-found]

        self.lua = luajit21.LuaRuntime()
        path = os.environ["DLX_TWO_LUA"]
        self.lua.execute(f"package.path = '{path}/?.lua;{path}/?/init.lua;' .. package.path")
        self.dlx = self.lua.execute("ffi = require 'ffi'; dlx = require 'dlx'; return dlx")
        self.call = self.lua.eval("function(name, t) return t[name](t) end")
        self.number = self.lua.eval("function(p) return tonumber(ffi.cast('intptr_t', p)) end")
        self.has_counter = False
        self.last: Any = None

    def take(self, managed: int) -> Any:
        return self.lua.eval("function(p) return dlx.from_dlpack(ffi.cast('void *', p)) end")(
            managed
        )

    def address(self, t: Any) -> int:
        return int(
            self.lua.eval(
                "function(t) return tonumber(ffi.cast('intptr_t', dlx.C.dlx_tensor_data(t.handle))) end"
            )(t)
        )

    def sum(self, t: Any) -> float:
        return float(sum(self.call("values", t).values()))

    def drop(self, t: Any) -> None:
        self.call("close", t)

    def drop_on_thread(self, t: Any) -> None:
        thread = threading.Thread(target=self.drop, args=(t,))
        thread.start()
        thread.join()

    def give(self) -> int:
        t = self.lua.eval("function() return dlx.from({0, 1, 2, 3, 4, 5}, {2, 3}) end")()
        self.last = self.address(t)
        managed = int(self.number(self.call("to_dlpack", t)))
        self.drop(t)
        return managed

    def given(self) -> int:
        return int(self.last)


class Java:
    def __init__(self) -> None:
        import jpype  # type: ignore[import-not-found]

        jpype.startJVM(f"-Ddlx.library={LIBRARY}", classpath=os.environ["DLX_TWO_JAVA"].split(":"))
        self.jpype = jpype
        self.Tensor = jpype.JClass("dlx.Tensor")
        self.DType = jpype.JClass("dlx.DType")
        self.count = jpype.JClass("java.util.concurrent.atomic.AtomicInteger")(0)
        self.last = 0

    def take(self, managed: int) -> Any:
        return self.Tensor.fromDLPack(managed)

    def address(self, t: Any) -> int:
        return int(t.address())

    def sum(self, t: Any) -> float:
        return float(sum(t.toFloats()))

    def drop(self, t: Any) -> None:
        t.close()

    def drop_on_thread(self, t: Any) -> None:
        thread = self.jpype.JClass("java.lang.Thread")(
            self.jpype.JProxy("java.lang.Runnable", {"run": t.close})
        )
        thread.start()
        thread.join()

    def give(self) -> int:
        buffer = self.jpype.JClass("java.nio.ByteBuffer").allocateDirect(24)
        floats = buffer.order(self.jpype.JClass("java.nio.ByteOrder").nativeOrder()).asFloatBuffer()
        for i in range(6):
            floats.put(i, float(i))
        longs = self.jpype.JArray(self.jpype.JLong)
        t = self.Tensor.wrap(buffer, self.DType.FLOAT32, longs([2, 3]), None,
                             self.jpype.JProxy("java.lang.Runnable", {"run": self.count.incrementAndGet}))  # fmt: skip
        self.last = int(t.address())
        managed = int(t.toDLPack())
        t.close()
        return managed

    def given(self) -> int:
        return self.last

    def released(self) -> int:
        return int(self.count.get())


def start(name: str) -> Any:
    if name in ("rust", "go"):
        return Compiled(os.environ[f"DLX_TWO_{name.upper()}"])
    return {"lua": Lua, "java": Java}[name]()
