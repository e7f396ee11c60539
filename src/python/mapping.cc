#include "src/python/mapping.h"

#include <cstdint>

#include "src/python/arguments.h"
#include "src/python/integers.h"
#include "src/python/tensor_type.h"
#include "src/system/system.h"
#include "src/tensor/tensor.h"

namespace dlx::py {
namespace {

void unmap(void* data, void* size) { sys::unmap_file(data, reinterpret_cast<uintptr_t>(size)); }

}  // namespace

PyObject* map_file(PyObject*, PyObject* const* args, int64_t nargs, PyObject*) {
  return positional("share", nargs, 3, [&] {
    const auto descriptor = static_cast<int>(to_int64(args[0], "descriptor"));
    int64_t size = to_int64(args[1], "size");
    const bool writable = args[2] == api.true_;
    const auto bytes = static_cast<size_t>(size);
    void* data;
    const int problem = sys::map_file(descriptor, bytes, writable, &data);
    if (problem != 0) return api.PyLong_FromLongLong(problem);
    DLTensor description{};
    description.data = data;
    description.ndim = 1;
    description.shape = &size;
    description.dtype = {kDLUInt, 8, 1};
    description.device.device_type = kDLCPU;
    const uint64_t flags = writable ? 0 : DLPACK_FLAG_BITMASK_READ_ONLY;
    try {
      return new_object(wrap(description, flags, unmap, reinterpret_cast<void*>(bytes)));
    } catch (...) {
      // not covered from here: memory for the Tensor has run out
      sys::unmap_file(data, bytes);
      throw;
      // covered again
    }
  });
}

}  // namespace dlx::py
