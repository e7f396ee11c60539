#include "src/python/state.h"

namespace dlx::py {

State state;
std::atomic<PyObject*> numpy_array{nullptr};
Names names;

}  // namespace dlx::py
