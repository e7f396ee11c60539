#include "src/tensor/dlpack_check.h"

#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "src/base/error.h"
#include "src/device/registry.h"
#include "src/dtype/dtype.h"
#include "src/tensor/layout.h"

namespace dlx {
namespace {

enum class Severity { kError, kWarning };

[[gnu::format(printf, 3, 4)]] void add(CheckReport* report, Severity severity, const char* format,
                                       ...) {
  ++(severity == Severity::kError ? report->errors : report->warnings);
  char line[Error::kMessageBytes + 16];
  int length =
      std::snprintf(line, sizeof line, "%s: ", severity == Severity::kError ? "error" : "warning");
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(line + length, sizeof line - static_cast<size_t>(length) - 1, format, arguments);
  va_end(arguments);
  length = static_cast<int>(std::strlen(line));
  line[length++] = '\n';
  if (report->used + 1 >= report->capacity) return;
  const size_t room = report->capacity - report->used - 1;
  const size_t taken = static_cast<size_t>(length) < room ? static_cast<size_t>(length) : room;
  std::memcpy(report->text + report->used, line, taken);
  report->used += taken;
  report->text[report->used] = '\0';
}

template <typename Managed>
void check_manager(const Managed& managed, CheckReport* report) {
  if (managed.deleter == nullptr) {
    add(report, Severity::kWarning,
        "deleter is NULL: legal, but the producer is not told when to free");
  }
  if (managed.manager_ctx == nullptr) {
    add(report, Severity::kWarning,
        "manager_ctx is NULL: legal, but Paddle then never calls the deleter");
  }
}

void check_strides(const DLTensor& tensor, bool versioned, uint32_t minor, CheckReport* report) {
  if (tensor.ndim == 0) return;
  if (tensor.strides == nullptr) {
    if (versioned && minor >= 2) {
      add(report, Severity::kError,
          "strides is NULL with ndim %d, which DLPack forbids from 1.2 on", tensor.ndim);
    } else {
      add(report, Severity::kWarning,
          "strides is NULL (compact C order): DLPack 1.2 requires it to be filled");
    }
    return;
  }
  bool negative = false, repeated = false;
  for (int32_t i = 0; i < tensor.ndim; ++i) {
    if (tensor.shape[i] <= 1) continue;
    negative = negative || tensor.strides[i] < 0;
    repeated = repeated || tensor.strides[i] == 0;
  }
  if (negative) {
    add(report, Severity::kWarning,
        "strides has a negative number: legal, but PyTorch aborts the process");
  }
  if (repeated) {
    add(report, Severity::kWarning,
        "strides has a 0 on an axis of several elements: they share memory, so writing one writes "
        "all");
  }
}

void check_data(const DLTensor& tensor, int64_t count, CheckReport* report) {
  const auto type = type_of(tensor.device);
  if (count == 0) {
    if (tensor.data != nullptr) {
      add(report, Severity::kWarning, "data of an empty tensor should be NULL (got %p)",
          tensor.data);
    }
    return;
  }
  if (!data_is_address(type)) return;
  const auto address = reinterpret_cast<uintptr_t>(tensor.data) + tensor.byte_offset;
  const int64_t bits = item_bits(tensor.dtype, false) / tensor.dtype.lanes;
  const uintptr_t item = bits <= 8 ? 1 : static_cast<uintptr_t>(bits / 8);
  if (address % item != 0) {
    add(report, Severity::kWarning,
        "the first element at %p is not aligned to its own size of %zu bytes",
        reinterpret_cast<void*>(address), static_cast<size_t>(item));
  } else if (reinterpret_cast<uintptr_t>(tensor.data) % 64 != 0) {
    // The header asks for 256 bytes, and says that nobody may rely on it.
    add(report, Severity::kWarning,
        "data at %p is not aligned to 64 bytes: JAX copies it, and TensorFlow aborts when it "
        "computes",
        tensor.data);
  }
  if (tensor.byte_offset != 0) {
    add(report, Severity::kWarning,
        "byte_offset is %llu: legal, but Paddle, MXNet, Warp and ONNX Runtime ignore it",
        static_cast<unsigned long long>(tensor.byte_offset));
  }
}

void check_tensor(const DLTensor& tensor, bool padded, bool versioned, uint32_t minor,
                  CheckReport* report) {
  int64_t count;
  try {
    count = check_description(tensor, padded, "dl_tensor");
  } catch (const Error& error) {
    add(report, Severity::kError, "%s", error.what());
    return;
  }
  const auto type = type_of(tensor.device);
  if (!device_known(type)) {
    add(report, Severity::kWarning, "device_type is %d, which DLPack 1.3 does not know", type);
  }
  if (id_is_zero(type) && tensor.device.device_id != 0) {
    add(report, Severity::kError, "device_id is %d on %s (expected 0)", tensor.device.device_id,
        device_text(type, 0).text);
  }
  check_strides(tensor, versioned, minor, report);
  check_data(tensor, count, report);
}

}  // namespace

void check_versioned(const DLManagedTensorVersioned& managed, CheckReport* report) {
  const DLPackVersion version = managed.version;
  if (version.major != 1) {
    add(report, Severity::kError, "version is %u.%u (expected 1.x): only the deleter may be used",
        version.major, version.minor);
    return;
  }
  check_manager(managed, report);
  constexpr uint64_t kFlags = DLPACK_FLAG_BITMASK_READ_ONLY | DLPACK_FLAG_BITMASK_IS_COPIED |
                              DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED;
  if ((managed.flags & ~kFlags) != 0) {
    add(report, Severity::kError, "flags has bits that DLPack 1.3 does not define (got 0x%llx)",
        static_cast<unsigned long long>(managed.flags));
  }
  const bool padded = (managed.flags & DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED) != 0;
  check_tensor(managed.dl_tensor, padded, true, version.minor, report);
}

void check_legacy(const DLManagedTensor& managed, CheckReport* report) {
  add(report, Severity::kWarning,
      "DLManagedTensor is deprecated: DLManagedTensorVersioned also has version and flags");
  check_manager(managed, report);
  if (is_uint1(managed.dl_tensor.dtype)) {
    add(report, Severity::kWarning,
        "dtype is uint1, whose elements take a byte each in TVM and others: dlx refuses it in a "
        "struct without flags");
  }
  check_tensor(managed.dl_tensor, false, false, 0, report);
}

}  // namespace dlx
