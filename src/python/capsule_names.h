#ifndef DLX_SRC_PYTHON_CAPSULE_NAMES_H_
#define DLX_SRC_PYTHON_CAPSULE_NAMES_H_

namespace dlx::py {

/// Names of PyCapsules. DLPack asks for strings that live as long as the process.

constexpr const char* kVersioned = "dltensor_versioned";
constexpr const char* kUsedVersioned = "used_dltensor_versioned";
constexpr const char* kLegacy = "dltensor";
constexpr const char* kUsedLegacy = "used_dltensor";
constexpr const char* kExchangeApi = "dlpack_exchange_api";

constexpr const char* kArrowSchema = "arrow_schema";
constexpr const char* kArrowArray = "arrow_array";
constexpr const char* kArrowDeviceArray = "arrow_device_array";
constexpr const char* kArrowArrayStream = "arrow_array_stream";

}  // namespace dlx::py

#endif  // DLX_SRC_PYTHON_CAPSULE_NAMES_H_
