// Every function of the headers without memory (tests/dev/test_rules.py counts them): the n-th allocation of dlx fails, alone or with
// all that follow, in a new process (cold) and after a successful call (warm). The call succeeds or
// reports DLX_ERROR_OUT_OF_MEMORY, the same call with memory succeeds afterwards, and warm calls leak
// nothing. Cases of devices run on the fake drivers and without any.
#include <dlfcn.h>
#include <stdlib.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "dlx/arrow.h"
#include "dlx/call.h"
#include "dlx/dlx.h"
#include "dlx/python.h"
#include "tests/stubs/forked.h"

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define UNDER_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define UNDER_SANITIZER 1
#endif
#endif

#if defined(__GLIBC__) && !defined(UNDER_SANITIZER)
#include "tests/capi/no_memory_allocator.h"

namespace {

// ---- the calls ---------------------------------------------------------------------------------

constexpr DLDataType kInt32 = {kDLInt, 32, 1};
constexpr int64_t kRows = 96, kColumns = 64;
int32_t numbers[kRows * kColumns];
int64_t shape[] = {kRows, kColumns};
int64_t turned[] = {1, kRows};

/// Owns what a case makes, and remembers the first failure.
struct Made {
  dlx_status status = DLX_OK;
  std::vector<dlx_tensor*> tensors;

  Made() { tensors.reserve(16); }
  Made(const Made&) = delete;
  Made& operator=(const Made&) = delete;
  ~Made() {
    while (!tensors.empty()) {
      dlx_tensor_release(tensors.back());
      tensors.pop_back();
    }
  }
  bool ok(dlx_status result) {
    if (status == DLX_OK) status = result;
    return result == DLX_OK;
  }
  /// Keeps a tensor; false if the call failed. By reference: the call may run after the evaluation of
  /// the second argument.
  bool keep(dlx_status result, dlx_tensor* const& tensor) {
    if (!ok(result)) CHECK(tensor == nullptr);
    if (tensor != nullptr) tensors.push_back(tensor);
    return result == DLX_OK;
  }
  dlx_tensor* last() const { return tensors.back(); }
};

DLTensor description() {
  DLTensor out = {};
  out.data = numbers;
  out.device = {kDLCPU, 0};
  out.ndim = 2;
  out.dtype = kInt32;
  out.shape = shape;
  return out;
}

bool wrapped(Made& made, int64_t* strides = nullptr) {
  DLTensor tensor = description();
  if (strides != nullptr) {
    tensor.shape = strides + 2;
    tensor.strides = strides;
  }
  dlx_tensor* out = nullptr;
  return made.keep(dlx_tensor_wrap(&tensor, 0, nullptr, nullptr, &out), out);
}
bool columns_first(Made& made) {
  static int64_t layout[] = {1, kRows, kRows, kColumns};
  return wrapped(made, layout);
}
bool on_device(Made& made, int32_t type) {
  dlx_tensor* out = nullptr;
  return made.keep(dlx_tensor_empty(2, shape, &kInt32, type, 0, nullptr, &out), out);
}

using Body = dlx_status (*)(int32_t type);
struct Case {
  const char* name;
  Body body;
};

void no_deleter(DLManagedTensorVersioned*) {}
void no_legacy_deleter(DLManagedTensor*) {}
void no_release(ArrowArray* array) { array->release = nullptr; }
void no_schema_release(ArrowSchema* schema) { schema->release = nullptr; }

dlx_status view_case(int which) {
  Made made;
  if (!columns_first(made)) return made.status;
  dlx_tensor *own = made.last(), *out = nullptr;
  static const int32_t axes[] = {1, 0};
  static const int64_t larger[] = {2, kRows, kColumns};
  static const int64_t flat[] = {-1};
  const DLDataType floats = {kDLFloat, 32, 1};
  dlx_status status = DLX_OK;
  switch (which) {
    case 0: status = dlx_tensor_slice(own, 0, 1, 5, 2, &out); break;
    case 1: status = dlx_tensor_permute(own, axes, &out); break;
    case 2: status = dlx_tensor_broadcast_to(own, 3, larger, &out); break;
    case 3: status = dlx_tensor_bitcast(own, &floats, &out); break;
    case 4: status = dlx_tensor_as_readonly(own, &out); break;
    case 5: status = dlx_tensor_contiguous(own, nullptr, &out); break;
    case 6: status = dlx_tensor_clone(own, nullptr, &out); break;
    case 7: status = dlx_tensor_reshape(own, 1, flat, nullptr, &out); break;
    case 8: status = dlx_tensor_to_device(own, kDLCPU, 0, nullptr, &out); break;
    case 9: status = dlx_tensor_synchronize(own); break;
    case 10: status = dlx_tensor_select(own, 0, 3, &out); break;
    case 11: status = dlx_tensor_expand_dims(own, 1, &out); break;
    case 12: status = dlx_tensor_squeeze(own, 0, nullptr, &out); break;
    default: break;
  }
  made.keep(status, out);
  return made.status;
}

dlx_status export_case(bool versioned, int32_t copy) {
  Made made;
  if (!columns_first(made)) return made.status;
  dlx_export_options options = DLX_EXPORT_OPTIONS_INIT;
  options.copy = copy;
  if (versioned) {
    DLManagedTensorVersioned* out = nullptr;
    if (!made.ok(dlx_tensor_to_dlpack_versioned(made.last(), &options, &out))) return made.status;
    dlx_tensor* again = nullptr;
    int32_t consumed = 0;
    made.keep(dlx_tensor_from_dlpack_versioned(out, &consumed, &again), again);
    if (consumed == 0) out->deleter(out);
  } else {
    DLManagedTensor* out = nullptr;
    if (!made.ok(dlx_tensor_to_dlpack(made.last(), &options, &out))) return made.status;
    dlx_tensor* again = nullptr;
    if (!made.keep(dlx_tensor_from_dlpack(out, 0, &again), again)) out->deleter(out);
  }
  return made.status;
}

dlx_status arrow_export(int32_t layout, bool device) {
  Made made;
  if (!wrapped(made)) return made.status;
  dlx_arrow_options options = DLX_ARROW_OPTIONS_INIT;
  options.layout = layout;
  ArrowSchema schema = {};
  ArrowDeviceArray array = {};
  const bool good =
      made.ok(device ? dlx_tensor_to_arrow_device(made.last(), &options, &array, &schema)
                     : dlx_tensor_to_arrow(made.last(), &options, &array.array, &schema));
  if (!good) return made.status;
  dlx_tensor* again = nullptr;
  int32_t copied = 0;
  made.keep(device ? dlx_tensor_from_arrow_device(&array, &schema, nullptr, &copied, &again)
                   : dlx_tensor_from_arrow(&array.array, &schema, nullptr, &copied, &again),
            again);
  if (array.array.release != nullptr) array.array.release(&array.array);
  schema.release(&schema);
  return made.status;
}

dlx_status arrow_bits(int32_t) {
  Made made;
  static const unsigned char bits[16] = {1};
  const void* buffers[] = {nullptr, bits};
  ArrowSchema schema = {};
  schema.format = "b";
  schema.release = no_schema_release;
  ArrowArray array = {};
  array.length = 100;
  array.n_buffers = 2;
  array.buffers = buffers;
  array.release = no_release;
  dlx_tensor* out = nullptr;
  int32_t copied = 0;
  made.keep(dlx_tensor_from_arrow(&array, &schema, nullptr, &copied, &out), out);
  return made.status;
}

/// Data to a device, a strided copy there and back, on a stream.
dlx_status device_copies(int32_t type) {
  Made made;
  int64_t stream = 0;
  const bool streams = type != kDLOpenCL;
  if (streams && !made.ok(dlx_stream_create(type, 0, &stream))) return made.status;
  [&] {
    dlx_tensor* moved = nullptr;
    dlx_copy_options options = DLX_COPY_OPTIONS_INIT;
    if (streams) {
      options.flags = DLX_HAS_STREAM;
      options.stream = stream;
    }
    if (!columns_first(made)) return;
    if (!made.keep(dlx_tensor_to_device(made.last(), type, 0, &options, &moved), moved)) return;
    if (!on_device(made, type)) return;
    if (!made.ok(dlx_tensor_copy_from(made.last(), moved, &options))) return;
    dlx_tensor* back = nullptr;
    if (!made.keep(dlx_tensor_to_device(made.last(), kDLCPU, 0, nullptr, &back), back)) return;
    if (!made.ok(dlx_tensor_synchronize(moved))) return;
    made.ok(dlx_device_synchronize(type, 0));
  }();
  if (streams) {
    dlx_stream_synchronize(type, 0, stream);
    dlx_stream_destroy(type, 0, stream);
  }
  return made.status;
}

dlx_status device_exports(int32_t type) {
  Made made;
  if (!on_device(made, type)) return made.status;
  DLManagedTensorVersioned* out = nullptr;
  if (made.ok(dlx_tensor_to_dlpack_versioned(made.last(), nullptr, &out))) out->deleter(out);
  return made.status;
}

/// Questions need no memory.
dlx_status answers(int32_t) {
  Made made;
  if (!wrapped(made)) return made.status;
  dlx_tensor* const tensor = made.last();
  CHECK(dlx_version()[0] != '\0' && dlx_abi_version() == 1);
  CHECK(dlx_tensor_dltensor(tensor)->data == numbers && dlx_tensor_data(tensor) == numbers);
  CHECK(dlx_tensor_ndim(tensor) == 2 && dlx_tensor_shape(tensor)[0] == kRows);
  CHECK(dlx_tensor_strides(tensor)[0] == kColumns && dlx_tensor_dtype(tensor)->bits == 32);
  CHECK(dlx_tensor_device_type(tensor) == kDLCPU && dlx_tensor_device_id(tensor) == 0);
  CHECK(dlx_tensor_size(tensor) * 4 == dlx_tensor_nbytes(tensor));
  CHECK(dlx_tensor_flags(tensor) == 0 && dlx_tensor_is_contiguous(tensor, DLX_ORDER_C) == 1);
  CHECK(dlx_dtype_bits(&kInt32) == 32);
  int64_t bytes = 0;
  made.ok(dlx_dtype_nbytes(&kInt32, 3, 0, &bytes));
  made.ok(dlx_set_export_negative_strides(dlx_get_export_negative_strides()));
  dlx_tensor_release(dlx_tensor_retain(tensor));
  dlx_set_last_error("a message that is longer than a short string of C++");
  return made.status;
}

dlx_status contract_answers(int32_t) {
  Made made;
  dlx_contract* contract = nullptr;
  if (!made.ok(dlx_contract_create("f(x: float32[n], out: dtype(x)[n, 2] result)", &contract))) {
    return made.status;
  }
  CHECK(std::strcmp(dlx_contract_name(contract), "f") == 0 && dlx_contract_count(contract) == 2);
  dlx_parameter parameter = DLX_PARAMETER_INIT;
  made.ok(dlx_contract_parameter(contract, 1, &parameter));
  int64_t extents[1] = {3}, strides[1] = {1}, found[2] = {};
  float data[3] = {};
  DLTensor array = {data, {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, extents, strides, 0};
  dlx_argument arguments[2] = {};
  arguments[0].array = &array;
  DLDataType dtype = {};
  made.ok(dlx_contract_result(contract, 1, arguments, &dtype, found));
  dlx_contract_release(contract);
  return made.status;
}

/// tests/python/test_import_memory.py has those with an interpreter.
dlx_status python_refusals(int32_t) {
  Made made;
  dlx_contract* contract = nullptr;
  if (!wrapped(made)) return made.status;
  if (!made.ok(dlx_contract_create("f(x: float32[n])", &contract))) return made.status;
  dlx_tensor* tensor = nullptr;
  dlx_borrowed borrowed = {};
  void* object = numbers;
  const dlx_status refused[] = {
      dlx_python_attach(numbers, numbers),   dlx_python_unwrap(numbers, &tensor),
      dlx_python_wrap(made.last(), &object), dlx_python_borrow(contract, &object, &borrowed),
      dlx_python_give_back(&borrowed, 1, 1), dlx_python_function([] {}, contract, nullptr, &object),
  };
  dlx_contract_release(contract);
  for (const dlx_status status : refused) {
    CHECK(status == DLX_ERROR_UNAVAILABLE || status == DLX_ERROR_OUT_OF_MEMORY);
    if (status == DLX_ERROR_OUT_OF_MEMORY) made.ok(status);
  }
  return made.status;
}

/// Streams, current ones, and a tensor that follows them.
dlx_status streams(int32_t type) {
  Made made;
  int64_t stream = 0, current = 0;
  if (type == kDLOpenCL) return DLX_OK;  // has none
  if (!made.ok(dlx_stream_create(type, 0, &stream))) return made.status;
  const bool good = made.ok(dlx_stream_set_current(type, 0, stream)) &&
                    made.ok(dlx_stream_get_current(type, 0, &current)) &&
                    made.ok(dlx_stream_wait(type, 0, stream, type == kDLCUDA ? 1 : 0)) &&
                    on_device(made, type) &&
                    made.ok(dlx_tensor_written_on_stream(made.last(), stream)) &&
                    made.ok(dlx_tensor_wait_on_stream(made.last(), type == kDLCUDA ? 2 : 0));
  if (good) CHECK(current == stream);
  CHECK(dlx_stream_reset_current(type, 0) == DLX_OK);
  dlx_stream_synchronize(type, 0, stream);
  dlx_stream_destroy(type, 0, stream);
  return made.status;
}

int32_t none(void*) { return 0; }

const Case kHostCases[] = {
    {"dlx_device_of_pointer",
     [](int32_t) {
       int32_t type = -1, id = -1;
       const dlx_status status = dlx_device_of_pointer(numbers, &type, &id);
       if (status == DLX_OK) CHECK_EQUAL(type, kDLCPU);
       return status;
     }},
    {"dlx_device_ordinal_of_pointer",
     [](int32_t) {
       int32_t ordinal = -1;
       return dlx_device_ordinal_of_pointer(numbers, &ordinal);
     }},
    {"dlx_tensor_wrap",
     [](int32_t) {
       Made made;
       wrapped(made);
       return made.status;
     }},
    {"dlx_tensor_wrap of pinned memory",
     [](int32_t) {
       Made made;
       DLTensor tensor = description();
       tensor.device.device_type = kDLCUDAHost;
       dlx_tensor* out = nullptr;
       if (made.keep(dlx_tensor_wrap(&tensor, 0, nullptr, nullptr, &out), out)) {
         made.ok(dlx_tensor_synchronize(out));
       }
       return made.status;
     }},
    {"dlx_tensor_wrap on cuda:255",
     [](int32_t) {
       Made made;
       DLTensor tensor = description();
       tensor.device = {kDLCUDA, 255};
       dlx_tensor* out = nullptr;
       made.keep(dlx_tensor_wrap(&tensor, 0, nullptr, nullptr, &out), out);
       return made.status;
     }},
    {"dlx_tensor_empty on the CPU",
     [](int32_t) {
       Made made;
       on_device(made, kDLCPU);
       return made.status;
     }},
    {"dlx_tensor_slice", [](int32_t) { return view_case(0); }},
    {"dlx_tensor_select", [](int32_t) { return view_case(10); }},
    {"dlx_tensor_expand_dims", [](int32_t) { return view_case(11); }},
    {"dlx_tensor_squeeze", [](int32_t) { return view_case(12); }},
    {"functions that cannot fail", answers},
    {"dlx_tensor_to_arrow_schema",
     [](int32_t) {
       Made made;
       ArrowSchema schema = {};
       if (wrapped(made) && made.ok(dlx_tensor_to_arrow_schema(made.last(), nullptr, &schema))) {
         schema.release(&schema);
       }
       return made.status;
     }},
    {"dlx_contract_parameter, dlx_contract_result", contract_answers},
    {"dlx_python_* without an interpreter", python_refusals},
    {"dlx_tensor_permute", [](int32_t) { return view_case(1); }},
    {"dlx_tensor_broadcast_to", [](int32_t) { return view_case(2); }},
    {"dlx_tensor_bitcast", [](int32_t) { return view_case(3); }},
    {"dlx_tensor_as_readonly", [](int32_t) { return view_case(4); }},
    {"dlx_tensor_contiguous", [](int32_t) { return view_case(5); }},
    {"dlx_tensor_clone", [](int32_t) { return view_case(6); }},
    {"dlx_tensor_reshape", [](int32_t) { return view_case(7); }},
    {"dlx_tensor_to_device", [](int32_t) { return view_case(8); }},
    {"dlx_tensor_synchronize", [](int32_t) { return view_case(9); }},
    {"dlx_tensor_to_dlpack_versioned", [](int32_t) { return export_case(true, 0); }},
    {"dlx_tensor_to_dlpack_versioned, copied",
     [](int32_t) { return export_case(true, DLX_COPY_ALWAYS); }},
    {"dlx_tensor_to_dlpack", [](int32_t) { return export_case(false, 0); }},
    {"dlx_tensor_from_dlpack_versioned",
     [](int32_t) {
       Made made;
       DLManagedTensorVersioned managed = {};
       managed.version.major = 1;
       managed.deleter = no_deleter;
       managed.dl_tensor = description();
       dlx_tensor* out = nullptr;
       int32_t consumed = 0;
       made.keep(dlx_tensor_from_dlpack_versioned(&managed, &consumed, &out), out);
       CHECK_EQUAL(consumed, made.status == DLX_OK ? 1 : 0);
       return made.status;
     }},
    {"dlx_tensor_from_dlpack",
     [](int32_t) {
       Made made;
       DLManagedTensor managed = {};
       managed.deleter = no_legacy_deleter;
       managed.dl_tensor = description();
       dlx_tensor* out = nullptr;
       made.keep(dlx_tensor_from_dlpack(&managed, 0, &out), out);
       return made.status;
     }},
    {"dlx_dlpack_check",
     [](int32_t) {
       DLManagedTensor managed = {};
       managed.dl_tensor = description();
       char report[256];
       return dlx_dlpack_check(&managed, DLX_MANAGED_LEGACY, report, sizeof report, nullptr,
                               nullptr);
     }},
    {"dlx_tensor_to_arrow", [](int32_t) { return arrow_export(DLX_ARROW_LISTS, false); }},
    {"dlx_tensor_to_arrow, as tensors",
     [](int32_t) { return arrow_export(DLX_ARROW_TENSORS, false); }},
    {"dlx_tensor_to_arrow_device", [](int32_t) { return arrow_export(DLX_ARROW_LISTS, true); }},
    {"dlx_tensor_from_arrow of bits", arrow_bits},
    {"dlx_copy",
     [](int32_t) {
       static int32_t other[kRows * kColumns];
       DLTensor dst = description(), src = description();
       dst.data = other;
       dst.strides = turned;
       return dlx_copy(&dst, &src, nullptr);
     }},
    {"dlx_copy_plan_describe",
     [](int32_t) {
       DLTensor dst = description(), src = description();
       dst.strides = turned;
       char text[512];
       return dlx_copy_plan_describe(&dst, &src, text, sizeof text);
     }},
    {"dlx_dtype_parse, dlx_dtype_name, dlx_dtype_format",
     [](int32_t) {
       Made made;
       DLDataType dtype = kInt32;
       char text[64];
       made.ok(dlx_dtype_parse("float4_e2m1fnx2", &dtype));
       made.ok(dlx_dtype_name(&dtype, text, sizeof text));
       made.ok(dlx_dtype_format(&kInt32, 0, text, sizeof text));
       made.ok(dlx_dtype_parse_format("<f4", DLX_FORMAT_TYPESTR, &dtype));
       return made.status;
     }},
    {"dlx_device_parse, dlx_device_name",
     [](int32_t) {
       Made made;
       int32_t type = 0, id = 0;
       char text[64];
       made.ok(dlx_device_parse("cuda:1", &type, &id));
       made.ok(dlx_device_name(type, id, text, sizeof text));
       return made.status;
     }},
    {"dlx_set_allocator", [](int32_t) { return dlx_set_allocator(kDLCUDA, nullptr); }},
    {"dlx_contract_create",
     [](int32_t) {
       Made made;
       dlx_contract* contract = nullptr;
       if (!made.ok(dlx_contract_create(
               "scale_all_of_them(the_first_array: float32|float64[rows, columns] writable, "
               "factor: "
               "float = 2, a_name: str = 'longer than a short string', out: float32[rows] result)",
               &contract))) {
         return made.status;
       }
       // Of an array that does not fit: the message needs no memory that it cannot do without.
       int64_t shape[1] = {3}, strides[1] = {1};
       float data[3] = {};
       DLTensor array = {data, {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, shape, strides, 0};
       dlx_argument arguments[4] = {};
       arguments[0].array = &array;
       const dlx_status refused = dlx_contract_check(contract, arguments, nullptr);
       CHECK(refused == DLX_ERROR_INVALID_ARGUMENT || refused == DLX_ERROR_OUT_OF_MEMORY);
       dlx_contract_release(contract);
       return static_cast<dlx_status>(refused == DLX_ERROR_INVALID_ARGUMENT ? DLX_OK : refused);
     }},
    {"dlx_contract_call",
     [](int32_t) {
       Made made;
       const int64_t shape[2] = {3, 2};
       const DLDataType float32 = {kDLFloat, 32, 1};
       dlx_contract* contract = nullptr;
       dlx_tensor *x = nullptr, *out[2];
       if (made.ok(
               dlx_contract_create("f(x: float32[n, m], y: float32[n] result, z: any[...] = None,"
                                   " w: dtype(x)[m, n] result)",
                                   &contract)) &&
           made.ok(dlx_tensor_empty(2, shape, &float32, kDLCPU, 0, nullptr, &x))) {
         dlx_tensor* const tensors[4] = {x};
         const auto function = [](void*, const dlx_argument*) { return dlx_status{DLX_OK}; };
         if (made.ok(dlx_contract_call(contract, function, nullptr, tensors, nullptr, out))) {
           dlx_tensor_release(out[0]);
           dlx_tensor_release(out[1]);
         }
       }
       dlx_tensor_release(x);
       dlx_contract_release(contract);
       return made.status;
     }},
    {"dlx_set_num_threads",
     [](int32_t) {
       const dlx_status status = dlx_set_num_threads(0);
       CHECK(dlx_get_num_threads() >= 1);
       return status;
     }},
};

/// Calls that keep what they allocate.
const Case kColdCases[] = {
    {"dlx_set_parallel_for", [](int32_t) { return dlx_set_parallel_for(nullptr, nullptr); }},
    {"dlx_register_backend",
     [](int32_t) {
       static int32_t next = 100;
       dlx_backend backend = {};
       backend.struct_size = sizeof backend;
       backend.device_count = none;
       backend.allocate = [](int32_t, size_t, size_t, void*) -> void* { return nullptr; };
       backend.deallocate = [](int32_t, void*, void*) {};
       backend.copy_from_host = [](int32_t, void*, uint64_t, const void*, size_t, int64_t, void*) {
         return 1;
       };
       backend.copy_to_host = [](int32_t, void*, const void*, uint64_t, size_t, int64_t, void*) {
         return 1;
       };
       backend.copy_on_device = [](int32_t, void*, uint64_t, int32_t, const void*, uint64_t, size_t,
                                   int64_t, void*) { return 1; };
       backend.synchronize = [](int32_t, void*) { return 0; };
       return dlx_register_backend(next++, &backend);
     }},
};

/// Functions that return no status: without memory there is no device, and a reason.
const Case kStatusless[] = {
    {"dlx_device_count",
     [](int32_t type) {
       const int32_t count = dlx_device_count(type);
       CHECK(count >= 0);
       if (count == 0) CHECK(dlx_backend_reason(type)[0] != '\0' || dlx_device_count(type) > 0);
       return static_cast<dlx_status>(count > 0 ? DLX_OK : DLX_ERROR_UNAVAILABLE);
     }},
    {"dlx_backend_reason",
     [](int32_t type) {
       const char* reason = dlx_backend_reason(type);
       return static_cast<dlx_status>(reason[0] == '\0' ? DLX_OK : DLX_ERROR_UNAVAILABLE);
     }},
};

const Case kDeviceCases[] = {
    {"dlx_device_info",
     [](int32_t type) {
       dlx_device_properties properties = {};
       properties.struct_size = sizeof properties;
       return dlx_device_info(type, 0, &properties);
     }},
    {"dlx_device_synchronize", [](int32_t type) { return dlx_device_synchronize(type, 0); }},
    {"dlx_tensor_empty",
     [](int32_t type) {
       Made made;
       on_device(made, type);
       return made.status;
     }},
    {"dlx_stream_create",
     [](int32_t type) {
       Made made;
       int64_t stream = 0;
       if (made.ok(dlx_stream_create(type, 0, &stream))) {
         dlx_stream_destroy(type, 0, stream);
       }
       return made.status;
     }},
    {"streams", streams},
    {"copies between the CPU and a device", device_copies},
    {"an export from a device", device_exports},
};

// ---- how they run ------------------------------------------------------------------------------

struct Failing {
  bool loader, after;
  const char* name;
};
constexpr Failing kFailing[] = {{false, false, "alone"},
                                {false, true, "and all after it"},
                                {true, false, "alone, the loader's too"},
                                {true, true, "and all after it, the loader's too"}};

dlx_status run_failing(const Case& test, int32_t type, const Failing& how, long n) {
  with_loader = how.loader;
  all_after = how.after;
  countdown = n;
  failed = false;
  armed = true;
  const dlx_status status = test.body(type);
  armed = false;
  return status;
}

int failures = 0, runs = 0;

void report(const Case& test, int32_t type, const Failing& how, long n, const char* when,
            const std::string& what) {
  ++failures;
  std::fprintf(stderr, "%s (device type %d), %s: allocation %ld fails, %s: %s\n", test.name, type,
               when, n, how.name, what.c_str());
}

std::string outcome_text(dlx_status status) {
  return std::string(dlx_status_name(status)) + ": " + dlx_last_error();
}

/// The status with memory, in a new process.
dlx_status expected_of(const Case& test, int32_t type) {
  const auto outcome = dlx_test::run_forked([&] { _exit(100 + test.body(type)); });
  return WIFEXITED(outcome.status) ? WEXITSTATUS(outcome.status) - 100 : DLX_ERROR_INTERNAL;
}

constexpr int kNotReached = 99;

void cold(const Case& test, int32_t type, bool statusless) {
  const dlx_status expected = expected_of(test, type);
  if (expected == DLX_ERROR_INTERNAL) {
    ++failures;
    std::fprintf(stderr, "%s (device type %d) fails with memory\n", test.name, type);
    return;
  }
  for (const Failing& how : kFailing) {
    // The loader of OpenCL loads drivers too, and remembers that one failed.
    if (how.loader && type == kDLOpenCL && std::getenv("DLX_OPENCL_PATH") == nullptr) continue;
    for (long n = 1;; ++n) {
      ++runs;
      const auto outcome = dlx_test::run_forked([&] {
        const dlx_status status = run_failing(test, type, how, n);
        if (status != expected && status != DLX_ERROR_OUT_OF_MEMORY && !statusless) {
          std::fprintf(stderr, "%s", outcome_text(status).c_str());
          _exit(1);
        }
        if (status == DLX_ERROR_OUT_OF_MEMORY)
          CHECK(std::strstr(dlx_last_error(), ": ") != nullptr);
        const dlx_status later = test.body(type);
        if (later != expected) {
          std::fprintf(stderr, "later: %s", outcome_text(later).c_str());
          _exit(2);
        }
        if (!failed) _exit(kNotReached);
      });
      if (WIFEXITED(outcome.status) && WEXITSTATUS(outcome.status) == kNotReached) break;
      if (outcome.passed()) continue;
      // glibc ends a process that has no memory for a driver's thread-local variables.
      if (how.loader && outcome.output.find("thread-local data") != std::string::npos) continue;
      std::string what = outcome.output;
      if (WIFSIGNALED(outcome.status)) what += strsignal(WTERMSIG(outcome.status));
      report(test, type, how, n, "cold", what);
      if (n == 300) break;
    }
  }
}

void warm(const Case& test, int32_t type, bool statusless) {
  const auto outcome = dlx_test::run_forked([&] {
    failures = 0;
    dlx_status expected = DLX_OK;
    for (int i = 0; i < 8; ++i) expected = test.body(type);
    for (const Failing& how : kFailing) {
      if (how.loader) continue;
      for (long n = 1;; ++n) {
        const long before = live;
        const dlx_status status = run_failing(test, type, how, n);
        const bool reached = failed;
        const dlx_status later = test.body(type);
        if (status != expected && status != DLX_ERROR_OUT_OF_MEMORY && !statusless) {
          report(test, type, how, n, "warm", outcome_text(status));
        }
        if (later != expected) report(test, type, how, n, "warm, later", outcome_text(later));
        if (!reached) break;
        // A second failure like the first keeps no more than the first did.
        const long kept = live - before;
        run_failing(test, type, how, n);
        test.body(type);
        if (kept > 0 && live - before > kept) {
          report(test, type, how, n, "warm", std::to_string(live - before) + " blocks leaked");
        }
      }
    }
    if (failures > 0) _exit(1);
  });
  if (outcome.passed()) return;
  ++failures;
  std::fprintf(stderr, "%s%s (device type %d), warm: ended with status 0x%x\n",
               outcome.output.c_str(), test.name, type, static_cast<unsigned>(outcome.status));
}

template <size_t kCount>
void run_all(const Case (&cases)[kCount], int32_t type, bool statusless, bool repeats) {
  for (const Case& test : cases) {
    cold(test, type, statusless);
    if (repeats) warm(test, type, statusless);
  }
}

void run_devices(bool present) {
  for (const int32_t type : {kDLCUDA, kDLROCM, kDLOpenCL}) {
    run_all(kStatusless, type, true, true);
    run_all(kDeviceCases, type, false, present);
  }
}

}  // namespace

int main() {
  dl_iterate_phdr(find_code, nullptr);
  CHECK(dlx_code.first != 0 && loader_code.first != 0);
  for (const bool fakes : {false, true}) {
    char place[4096];
    const auto choose = [&](const char* variable, const char* file) {
      std::snprintf(place, sizeof place, "tests/stubs/%s", file);
      char* path = fakes ? realpath(place, nullptr) : nullptr;
      CHECK(!fakes || path != nullptr);
      setenv(variable, fakes ? path : "/missing/driver.so", 1);
      free(path);
    };
    choose("DLX_CUDA_PATH", "fake_libcuda.so");
    choose("DLX_HIP_PATH", "fake_libamdhip64.so");
    if (!fakes) {
      setenv("DLX_OPENCL_PATH", "/missing/driver.so", 1);
    } else {
      unsetenv("DLX_OPENCL_PATH");  // the machine's, if there is one
    }
    run_all(kHostCases, 0, false, true);
    run_all(kColdCases, 0, false, false);
    run_devices(fakes);
  }
  std::fprintf(stderr, "%d cold runs, %d failures\n", runs, failures);
  return failures == 0 ? 0 : 1;
}

#else

int main() {
  std::fprintf(stderr, "skipped: the allocator cannot be replaced here\n");
  return 0;
}

#endif
