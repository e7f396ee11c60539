#include "src/python/torch_fields.h"

#include <atomic>
#include <cstring>
#include <new>

#include "src/base/foreign.h"
#include "src/python/errors.h"
#include "src/python/torch_plain.h"
#include "src/python/type_cache.h"
#include "src/system/loader.h"
#include "src/tensor/layout.h"

namespace dlx::py {
namespace {

/// Torch's functions; a handle is the address of the at::Tensor inside the Python object.
using Handle = const void*;
struct Functions {
  int32_t (*data)(Handle, void**) = nullptr;
  int32_t (*ndim)(Handle, int64_t*) = nullptr;
  int32_t (*sizes)(Handle, int64_t**) = nullptr;
  int32_t (*strides)(Handle, int64_t**) = nullptr;
  int32_t (*dtype)(Handle, int32_t*) = nullptr;
  int32_t (*device_type)(Handle, int32_t*) = nullptr;
  bool (*records)() = nullptr;
  // Of torch 2.14 and later.
  int32_t (*empty)(int64_t ndim, const int64_t* sizes, const int64_t* strides, int32_t dtype,
                   int32_t device_type, int32_t device_index, void** tensor) = nullptr;
  int32_t (*to_object)(void* tensor, void* type, void** object) = nullptr;
  int32_t (*release)(void* tensor) = nullptr;
};

Functions functions;  // written once, before the state says so
enum class State { kUnknown, kFound, kDistrusted };
std::atomic<State> found{State::kUnknown};

constexpr int kDTypes = 64;
constexpr int kMostAxes = 8;
/// The DLPack dtype of each of torch's numbers, once learned; 0: not yet.
std::atomic<uint32_t> dtypes[kDTypes];

// not covered from here: another PyTorch, whose functions have other names
bool find_functions() noexcept {
  try {
    void* const library = sys::find_loaded(sys::file_name("torch_cpu").c_str());
    if (library == nullptr) return false;
    const auto find = [&](auto* slot, const char* name) {
      void* const symbol = sys::find_symbol(library, name);
      std::memcpy(slot, &symbol, sizeof symbol);
      return symbol != nullptr;
    };
    (void)find(&functions.records, "aoti_torch_grad_mode_is_enabled");
    if (find(&functions.empty, "aoti_torch_empty_strided") &&
        find(&functions.release, "aoti_torch_delete_tensor_object")) {
      (void)find(&functions.to_object, "torch_tensor_to_pyobject");
    }
    return find(&functions.data, "aoti_torch_get_data_ptr") &&
           find(&functions.ndim, "aoti_torch_get_dim") &&
           find(&functions.sizes, "aoti_torch_get_sizes") &&
           find(&functions.strides, "aoti_torch_get_strides") &&
           find(&functions.dtype, "aoti_torch_get_dtype") &&
           find(&functions.device_type, "aoti_torch_get_device_type");
  } catch (const std::bad_alloc&) {
    return false;
  }
}
// covered again

/// What the functions say, with torch's numbers of dtype and device.
struct Fields {
  void* data;
  int64_t ndim;
  int64_t* sizes;
  int64_t* strides;
  int32_t dtype;
  int32_t device_type;
};

bool read_fields(const PyObject* object, Fields* out) noexcept {
  const Handle handle = reinterpret_cast<const char*>(object) + head_bytes;
  const Functions& f = functions;
  const int32_t failed = f.data(handle, &out->data) | f.ndim(handle, &out->ndim) |
                         f.sizes(handle, &out->sizes) | f.strides(handle, &out->strides) |
                         f.dtype(handle, &out->dtype) | f.device_type(handle, &out->device_type);
  // not covered from here: a PyTorch whose functions and table disagree
  return failed == 0 && out->device_type == 0 && out->ndim >= 0 && out->ndim <= kMostAxes &&
         out->dtype >= 0 && out->dtype < kDTypes;
}

/// Whether both describe the same memory.
bool agree(const Fields& fields, const DLTensor& table) noexcept {
  if (static_cast<char*>(table.data) + table.byte_offset != fields.data ||
      table.ndim != fields.ndim || table.device.device_type != kDLCPU) {
    return false;
  }
  for (int i = 0; i < table.ndim; ++i) {
    if (table.shape[i] != fields.sizes[i] || table.strides[i] != fields.strides[i]) return false;
  }
  return true;
}
// covered again

}  // namespace

bool read_torch_fields(const PyObject* object, DLTensor* out, int64_t* room) noexcept {
  if (found.load(std::memory_order_acquire) != State::kFound) return false;
  Fields fields;
  if (!read_fields(object, &fields)) return false;
  const uint32_t dtype = dtypes[fields.dtype].load(std::memory_order_relaxed);
  if (dtype == 0) return false;
  out->data = fields.data;
  out->device = {kDLCPU, 0};
  out->ndim = static_cast<int32_t>(fields.ndim);
  std::memcpy(&out->dtype, &dtype, sizeof dtype);
  out->shape = room;
  out->strides = room + kMostAxes;
  out->byte_offset = 0;
  for (int i = 0; i < out->ndim; ++i) {
    room[i] = fields.sizes[i];
    room[kMostAxes + i] = fields.strides[i];
  }
  return true;
}

// not covered from here: a PyTorch whose functions and table disagree
void note_torch_fields(PyObject* object) {
  // Where the object is not exactly a Tensor of a known torch, nothing says where its struct is.
  if (!is_known_plain(object, Gradient::kIgnored)) return;
  if (found.load(std::memory_order_acquire) == State::kUnknown) {
    found.store(find_functions() ? State::kFound : State::kDistrusted, std::memory_order_release);
  }
  if (found.load(std::memory_order_acquire) != State::kFound) return;
  const TypeEntry entry = look_up_type(class_of(object));
  if (entry.table == nullptr || entry.table->dltensor_from_py_object_no_sync == nullptr) return;
  DLTensor table{};
  Fields fields;
  if (!read_fields(object, &fields)) return;
  if (!call_table(entry.table->dltensor_from_py_object_no_sync, object, &table)) {
    api.PyErr_Clear();
    return;
  }
  // Sub-byte dtypes have a flag that this function of the table cannot say.
  if (table.dtype.bits < 8) return;
  if (!agree(fields, table)) {
    found.store(State::kDistrusted, std::memory_order_release);
    return;
  }
  uint32_t dtype;
  std::memcpy(&dtype, &table.dtype, sizeof dtype);
  dtypes[fields.dtype].store(dtype, std::memory_order_relaxed);
}
// covered again

// not covered from here: PyTorch 2.14 and newer
Ref new_torch_tensor(const ArraySpec& spec) {
  if (found.load(std::memory_order_acquire) != State::kFound || functions.to_object == nullptr ||
      spec.device.device_type != kDLCPU || spec.ndim > kMostAxes) {
    return Ref();
  }
  uint32_t wanted;
  std::memcpy(&wanted, &spec.dtype, sizeof wanted);
  int32_t dtype = 0;
  while (dtype < kDTypes && dtypes[dtype].load(std::memory_order_relaxed) != wanted) ++dtype;
  if (dtype == kDTypes) return Ref();
  int64_t strides[kMostAxes];
  fill_compact_strides(spec.ndim, spec.shape, spec.order, strides);
  void *tensor = nullptr, *object = nullptr;
  if (functions.empty(spec.ndim, spec.shape, strides, dtype, 0, 0, &tensor) != 0) return Ref();
  const bool made = functions.to_object(tensor, nullptr, &object) == 0;
  call_foreign(functions.release, tensor);
  if (made) return Ref(static_cast<PyObject*>(object));
  api.PyErr_Clear();
  return Ref();
}
// covered again

bool torch_records() noexcept {
  return found.load(std::memory_order_acquire) != State::kFound || functions.records == nullptr ||
         functions.records();
}

void forget_torch_fields() noexcept {
  found = State::kUnknown;
  for (std::atomic<uint32_t>& dtype : dtypes) dtype = 0;
}

}  // namespace dlx::py
