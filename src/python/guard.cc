#include "src/python/guard.h"

#include "dlx/dlx.h"
#include "src/python/errors.h"
#include "src/python/reference.h"
#include "src/python/state.h"

namespace dlx::py {

void prefer_guards_reason(PyObject* object) noexcept {
  if (is_urgent()) return;
  TakenError own;
  const Ref fine(call_objects(state.guard, object));
  const bool known =
      !fine &&
      (is_urgent() || api.PyErr_ExceptionMatches(state.errors[DLX_ERROR_UNSUPPORTED]) != 0);
  if (!known) own.put_back();
}

}  // namespace dlx::py
