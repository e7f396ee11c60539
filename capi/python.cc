#include "dlx/python.h"

#include "capi/guard.h"
#include "src/python/attach.h"

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

}  // extern "C"
