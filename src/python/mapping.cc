#include "src/python/mapping.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstdint>

#include "src/python/arguments.h"
#include "src/python/integers.h"
#include "src/python/tensor_type.h"
#include "src/tensor/tensor.h"

namespace dlx::py {
namespace {

void unmap(void* data, void* size) { munmap(data, reinterpret_cast<uintptr_t>(size)); }

}  // namespace

PyObject* map_file(PyObject*, PyObject* const* args, intptr_t nargs, PyObject*) {
  return positional("share", nargs, 3, [&] {
    const auto descriptor = static_cast<int>(to_int64(args[0], "descriptor"));
    int64_t size = to_int64(args[1], "size");
    const int access = args[2] == api.true_ ? PROT_READ | PROT_WRITE : PROT_READ;
    const auto bytes = static_cast<size_t>(size);
    void* data = mmap(nullptr, bytes, access, MAP_SHARED, descriptor, 0);
    if (data == MAP_FAILED) return api.PyLong_FromLongLong(errno);
    DLTensor description{};
    description.data = data;
    description.ndim = 1;
    description.shape = &size;
    description.dtype = {kDLUInt, 8, 1};
    description.device.device_type = kDLCPU;
    const uint64_t flags = args[2] == api.true_ ? 0 : DLPACK_FLAG_BITMASK_READ_ONLY;
    try {
      return new_object(wrap(description, flags, unmap, reinterpret_cast<void*>(bytes)));
    } catch (...) {
      munmap(data, bytes);
      throw;
    }
  });
}

}  // namespace dlx::py
