#include "src/copy/threads/cores.h"

#include "src/base/cancellation.h"
#include "src/system/system.h"

namespace dlx {

int32_t available_cores() noexcept {
  const WithoutCancellation whole;  // files are read
  const int32_t cores = sys::cores();
  return cores > 0 ? cores : 1;
}

}  // namespace dlx
