#include "src/base/foreign.h"

namespace dlx {

std::atomic<const ErrorKeeper*> error_keeper{nullptr};

}  // namespace dlx
