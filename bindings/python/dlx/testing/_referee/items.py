"""The rules: number, level, text, and where the standard says it."""

from __future__ import annotations

from typing import NamedTuple

MUST, SHOULD, MAY = "MUST", "SHOULD", "MAY"

_API = "https://data-apis.org/array-api/draft/"
_GENERATED = f"{_API}API_specification/generated/array_api."
HEADER = ("dlpack.h", "https://github.com/dmlc/dlpack/blob/main/include/dlpack/dlpack.h")
PYTHON = ("DLPack's Python specification", "https://dmlc.github.io/dlpack/latest/python_spec.html")
METHOD = ("array API: __dlpack__", f"{_GENERATED}array.__dlpack__.html")
DEVICE = ("array API: __dlpack_device__", f"{_GENERATED}array.__dlpack_device__.html")
FUNCTION = ("array API: from_dlpack", f"{_GENERATED}from_dlpack.html")
DESIGN = ("array API: data interchange", f"{_API}design_topics/data_interchange.html")
CPYTHON = ("CPython: tp_finalize and destructors",
           "https://docs.python.org/3/c-api/typeobj.html#c.PyTypeObject.tp_dealloc")  # fmt: skip
BUFFERS = ("CPython: buffer protocol", "https://docs.python.org/3/c-api/buffer.html")
INTERFACE = (
    "NumPy: array interface",
    "https://numpy.org/doc/stable/reference/arrays.interface.html",
)
CUDA_INTERFACE = ("CUDA array interface 3",
                  "https://numba.readthedocs.io/en/stable/cuda/cuda_array_interface.html")  # fmt: skip
ARROW = ("Arrow PyCapsule interface",
         "https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html")  # fmt: skip
BACKEND = ("dlx.h: dlx_backend", "https://github.com/dmlc/dlpack")
NONE = ("good manners: no standard says it", "")


class Item(NamedTuple):
    """One rule. Numbers up to 91 are those of dlx's docs/conformance.md."""

    number: int
    level: str
    text: str
    page: str
    url: str
    section: str


PAGES = {
    "HEADER": HEADER, "PYTHON": PYTHON, "METHOD": METHOD, "DEVICE": DEVICE, "FUNCTION": FUNCTION,
    "DESIGN": DESIGN, "CPYTHON": CPYTHON, "BUFFERS": BUFFERS, "INTERFACE": INTERFACE,
    "CUDA_INTERFACE": CUDA_INTERFACE, "ARROW": ARROW, "BACKEND": BACKEND, "NONE": NONE,
}  # fmt: skip

# number, level, page | section | rule
_TABLE = """
2 MUST HEADER | DLPackVersion | A tensor of another major version is refused unread.
3 MAY HEADER | DLPackVersion | An unknown minor version of major 1 is accepted.
5 SHOULD HEADER | DLManagedTensor | The legacy struct is still accepted.
6 MUST HEADER | DLManagedTensorVersioned.deleter | NULL is accepted as deleter and as manager_ctx.
7 MUST HEADER | DLManagedTensorVersioned.deleter | The deleter is called once, when the last user is gone, and frees everything.
9 MUST HEADER | DLManagedTensorVersioned.flags | Only flags that the header defines are set.
10 MUST HEADER | DLPACK_FLAG_BITMASK_IS_COPIED | A copied export belongs to its consumer alone.
11 MUST HEADER | DLTensor | Ndim, shape, strides and data describe memory; strides are in elements and not NULL; any sign and 0 are legal; NULL was C order before 1.2.
12 MAY HEADER | DLTensor.shape | Shape and strides are NULL for a tensor without axes.
13 MAY HEADER | DLTensor.data | Data lies at 256 bytes; consumers cannot rely on it.
14 MUST HEADER | DLTensor.byte_offset | The first element is at data + byte_offset.
15 SHOULD HEADER | DLTensor.data | Data is NULL if there are no elements; consumers accept both.
17 MUST HEADER | DLTensor.dtype | Elements have the machine's byte order; others are refused.
18 MUST HEADER | DLDataType | bool is code 6 with 8 bits.
19 MUST HEADER | DLDataType | Elements of less than a byte are packed, or the consumer refuses them.
20 MUST HEADER | DLDataTypeCode | FP6 has 6 bits and FP4 has 4; consumers refuse others.
21 MUST HEADER | DLDataTypeCode | Codes, bits and lanes have the header's meaning; unknown ones are refused.
22 MUST HEADER | DLDevice.device_id | The device id of the CPU is 0.
24 MUST HEADER | kDLExtDev | Data of kDLExtDev is not taken for data of a known device.
25 MUST PYTHON | Syntax for data interchange | A capsule is named dltensor or dltensor_versioned.
26 MUST PYTHON | Syntax for data interchange | The names of capsules are static strings.
27 MUST PYTHON | Implementation | The capsule's destructor calls the deleter if and only if nobody consumed it.
28 MUST PYTHON | Implementation | The consumer renames the capsule to used_… and calls the deleter itself.
29 MUST PYTHON | Syntax for data interchange | Each call of __dlpack__ gives a capsule of its own.
31 MUST CPYTHON | tp_dealloc | A destructor works, and keeps the exception, while an exception is pending.
32 SHOULD PYTHON | Implementation | A failed import leaves exactly one call of the deleter: its own, or the capsule's.
33 MUST PYTHON | Implementation | Capsules of other names, used ones too, are refused.
34 MUST PYTHON | Implementation | The deleter can be called from any thread, without the GIL.
35 SHOULD PYTHON | Implementation | The deleter can be called after Python's end.
38 MUST HEADER | DLPackManagedTensorAllocator | The allocator calls SetError exactly when it fails.
40 MUST METHOD | Parameters | __dlpack__ takes stream, max_version, dl_device and copy by keyword.
41 MUST METHOD | stream | On the CPU the stream is None: others are not passed, and are refused.
42 MUST METHOD | stream | On devices with streams -1 is accepted: do not synchronize.
43 MUST METHOD | stream | On CUDA stream 0 is refused.
44 MUST METHOD | stream | On ROCm streams 1 and 2 are refused.
50 SHOULD METHOD | max_version | Without max_version the capsule is the legacy one, or BufferError.
51 SHOULD METHOD | max_version | With max_version=(1, 0) or later the capsule is versioned.
52 MUST METHOD | max_version | Any max_version is answered: by a capsule, or by BufferError.
53 MUST METHOD | dl_device | A dl_device that cannot be served raises BufferError.
54 MUST METHOD | dl_device | Export to the CPU is offered.
55 MUST METHOD | copy | copy=True copies; copy=False does not.
56 MUST METHOD | copy | IS_COPIED is set if and only if the data was copied.
58 SHOULD METHOD | Raises | BufferError is raised for what cannot be exported.
59 SHOULD METHOD | Notes: read-only arrays | Read-only data is marked; the legacy capsule, which cannot, is refused.
60 MUST PYTHON | Semantics | Nothing is copied unless it has to be.
61 MUST METHOD | max_version | The major version is not above what was asked for.
63 MUST DEVICE | Returns | __dlpack_device__ is a tuple of a device type and an id.
64 MUST DEVICE | Returns | The capsule's device is that of __dlpack_device__.
65 MUST FUNCTION | Parameters | from_dlpack takes an object, and device and copy by keyword.
67 MUST PYTHON | Semantics | The consumer asks __dlpack_device__.
69 SHOULD METHOD | Notes: max_version | A producer with the signature of 2022 is called without the new keywords.
70 SHOULD FUNCTION | copy | copy=True is not lost with a producer of 2022.
71 MUST FUNCTION | copy | copy=True copies; copy=False shares or raises.
72 MUST FUNCTION | Raises | Data on a device that is out of reach raises BufferError.
73 MUST FUNCTION | Raises | The producer's exceptions reach the caller.
74 MUST FUNCTION | Raises | An object without the methods raises AttributeError.
75 SHOULD METHOD | Notes: read-only arrays | Data marked read-only is accepted.
76 SHOULD HEADER | DLTensor | Malformed tensors are refused.
77 MUST DESIGN | DLPack: an in-memory tensor structure | All dtypes of the standard are accepted.
78 SHOULD HEADER | DLPackExchangeAPI | The type has a capsule dlpack_exchange_api.
79 MUST HEADER | DLPackExchangeAPI | The table is static and belongs to the type.
81 MUST HEADER | DLPackExchangeAPI | All functions are there, except dltensor_from_py_object_no_sync.
82 MUST HEADER | DLPackExchangeAPIHeader | The table, or a previous one, has major version 1.
85 MUST HEADER | DLPackCurrentWorkStream | current_work_stream of the CPU is NULL.
86 MUST HEADER | DLPackDLTensorFromPyObjectNoSync | dltensor_from_py_object_no_sync borrows.
87 MUST HEADER | DLPackManagedTensorToPyObjectNoSync | managed_tensor_to_py_object_no_sync takes the tensor over.
88 MUST HEADER | DLPackExchangeAPI | A function that fails returns -1 and sets an exception.
89 SHOULD DESIGN | DLPack C Exchange API | The table and the method give the same tensor.
91 SHOULD HEADER | DLPackExchangeAPI | A consumer ignores a table of another form, and calls the method.
92 MUST CUDA_INTERFACE | Python interface specification | __cuda_array_interface__ follows version 3.
93 MUST ARROW | Export protocol | Arrow capsules have their names, and release what they hold.
94 MUST BUFFERS | Buffer structure | The buffer tells the same memory as __dlpack__.
95 MUST INTERFACE | Python side | __array_interface__ tells the same memory as __dlpack__.
96 SHOULD NONE |  | Nothing is printed.
97 MUST NONE |  | Memory does not grow, however often tensors are exchanged.
98 MUST NONE |  | The process ends well although tensors are still alive.
99 MUST NONE |  | Several threads can exchange tensors at once.
100 MAY NONE |  | Any number of axes is accepted.
101 MUST BACKEND | allocate | Memory is aligned, separate, and can be had again after it is freed.
102 MUST BACKEND | copy_from_host | Bytes come back as they went, at every offset and size.
103 MUST BACKEND | copy_on_device | Copies on the device are right.
104 MUST BACKEND | copy_strided | Strided copies are right.
105 MUST BACKEND | stream_create | Streams are made, finished and destroyed.
106 MUST BACKEND | event_record | Events are recorded, waited for and released.
107 MUST BACKEND | error_text | Failures are reported, with a text.
108 MUST BACKEND | device_count | Devices are counted and described.
"""


def _read() -> dict[int, Item]:
    items = {}
    for line in _TABLE.strip().splitlines():
        head, section, text = (part.strip() for part in line.split("|"))
        number, level, page = head.split()
        items[int(number)] = Item(int(number), level, text, *PAGES[page], section)
    return items


ITEMS: dict[int, Item] = _read()
