#include "dlx/python.h"

#include "capi/guard.h"
#include "dlx/call.h"
#include "src/python/attach.h"
#include "src/python/borrow.h"
#include "src/python/entry.h"
#include "src/python/function.h"

using namespace dlx;
using namespace dlx::capi;

extern "C" {

dlx_status dlx_python_attach(void* object_type, void* namespace_dict) {
  return guard(__func__, [&] {
    require(object_type, "object_type");
    require(namespace_dict, "namespace_dict");
    py::attach(object_type, namespace_dict);
  });
}

dlx_status dlx_python_unwrap(void* object, dlx_tensor** out) {
  if (out != nullptr) *out = nullptr;
  return guard(__func__, [&] {
    require(object, "object");
    require(out, "out");
    *out = py::unwrap(object);
  });
}

dlx_status dlx_python_wrap(dlx_tensor* tensor, void** out) {
  if (out != nullptr) *out = nullptr;
  return guard(__func__, [&] {
    require(tensor, "tensor");
    require(out, "out");
    *out = py::wrap(tensor);
  });
}

dlx_status dlx_python_borrow(const dlx_contract* contract, void* const* objects,
                             dlx_borrowed* out) {
  return guard(__func__, [&] {
    require(contract, "contract");
    require(objects, "objects");
    require(out, "out");
    py::require_attached();
    py::with_exception(contract->function.c_str(),
                       [&] { py::borrow_all(*contract, objects, out); });
  });
}

dlx_status dlx_python_give_back(dlx_borrowed* borrowed, int32_t count, int32_t succeeded) {
  return guard(__func__, [&] {
    require(borrowed, "borrowed");
    py::require_attached();
    py::with_exception("dlx_python_give_back",
                       [&] { py::give_back_all(borrowed, count, succeeded != 0); });
  });
}

dlx_status dlx_python_function(void (*function)(void), dlx_contract* contract,
                               const dlx_function_options* options, void** out) {
  if (out != nullptr) *out = nullptr;
  return guard(__func__, [&] {
    require(reinterpret_cast<const void*>(function), "function");
    require(contract, "contract");
    require(out, "out");
    py::require_attached();
    const dlx_function_options read = read_options(options, "options");
    require_range(read.natural, 1, "options->natural");
    py::with_exception("dlx_python_function",
                       [&] { *out = py::make_function(function, contract, read, nullptr); });
  });
}

}  // extern "C"
