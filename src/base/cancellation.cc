#include "src/base/cancellation.h"

#include <exception>

namespace dlx {

bool thread_is_being_ended() noexcept { return std::current_exception() == nullptr; }

}  // namespace dlx
