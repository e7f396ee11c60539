#include "src/python/gil.h"

namespace dlx::py {

void end_with_the_gil() noexcept {    // not covered: CPython ends the process soon after
  if (!have_gil()) sleep_for_ever();  // not covered: CPython ends the process soon after
}  // not covered: CPython ends the process soon after

}  // namespace dlx::py
