#include "src/driver/opencl.h"

#include <string>

#include "src/driver/names.h"

namespace dlx::opencl {
namespace {

struct Opened {
  Opened() {
    DriverLibrary library({"DLX_OPENCL_PATH", nullptr, driver_names::kOpenCl});
    usable = library.open(&reason) && library.resolve(table.symbols(), &reason);
  }

  Functions table;
  std::string reason;
  bool usable = false;
};

}  // namespace

const Functions* functions(const char** reason) {
  static const Opened& opened = *new Opened;  // never destroyed: deleters may run late
  if (reason != nullptr) *reason = opened.reason.c_str();
  return opened.usable ? &opened.table : nullptr;
}

const char* error_name(Result code) noexcept {
  switch (code) {
#define DLX_OPENCL_ERROR(name, value) \
  case value: return #name;
#include "src/driver/opencl_errors.inc"
#undef DLX_OPENCL_ERROR
    default: return "unknown";
  }
}

}  // namespace dlx::opencl
