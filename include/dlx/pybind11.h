/**
 * dlx in extensions of pybind11: functions of dlx::Tensor and of dlx::Array are bound as they are,
 * and take the arrays of every library.
 *     PYBIND11_MODULE(images, m) {
 *       dlx::translate_pybind11_errors();
 *       m.def("invert", &invert);  // void invert(const dlx::Array<Image>&); see dlx/python.hpp
 *       m.attr("blur") = dlx::pybind11_function(&blur, "blur(image: uint8[h, w], …)");
 *     }
 *
 * - **dlx::Array<Tag>** costs least: the memory is borrowed for the call, and no object is made.
 *   What does not fit the contract raises dlx's error, or, among overloads, leaves the call to the
 *   next one; if none fits, the first one says why.
 * - **dlx::Tensor** takes what dlx.asarray takes, and may be kept.
 * - **Results**: a dlx::Tensor becomes a dlx.Tensor.
 * - **The GIL** is held while arguments are read and results made; py::call_guard gives it away
 *   during the function. **Errors** of dlx become dlx's classes of Python by the translator.
 * - The Python package must have been imported before (`import dlx`); the module loads its library.
 */
#ifndef DLX_PYBIND11_H_
#define DLX_PYBIND11_H_

#include <pybind11/pybind11.h>

#include <exception>

#include "dlx/python.hpp"

namespace dlx {

/** Makes dlx::Error a Python exception of its status's class in this module. */
inline void translate_pybind11_errors() {
  pybind11::register_local_exception_translator([](std::exception_ptr thrown) {
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const Error& error) {
      const pybind11::object raised = pybind11::module_::import("dlx.errors")
                                          .attr("from_status")(int{error.status()}, error.what());
      PyErr_SetObject(pybind11::type::handle_of(raised).ptr(), raised.ptr());
    }
  });
}

/** dlx.function of a C function: checked by the whole contract, with defaults and results, and as
 * fast as C calls from Python are. A contract that is wrong throws. */
template <typename Function>
pybind11::object pybind11_function(Function* function, const char* contract,
                                   const char* doc = nullptr) {
  void* made = nullptr;
  try {
    made = make_python_function(function, contract, doc);
  } catch (const Error&) {
    if (PyErr_Occurred() != nullptr) throw pybind11::error_already_set();
    throw;
  }
  return pybind11::reinterpret_steal<pybind11::object>(static_cast<PyObject*>(made));
}

}  // namespace dlx

namespace pybind11 {
namespace detail {

template <>
struct type_caster<dlx::Tensor> {
  PYBIND11_TYPE_CASTER(dlx::Tensor, const_name("dlx.Tensor"));

  bool load(handle source, bool) {
    dlx_tensor* tensor = nullptr;
    const object array = module_::import("dlx").attr("asarray")(source);
    dlx::check(dlx_python_unwrap(array.ptr(), &tensor));
    value = dlx::Tensor::adopt(dlx_tensor_retain(tensor));
    return true;
  }
  static handle cast(const dlx::Tensor& tensor, return_value_policy, handle) {
    void* object;
    dlx::check(dlx_python_wrap(tensor.get(), &object));
    return static_cast<PyObject*>(object);
  }
};

template <typename Tag>
struct type_caster<dlx::Array<Tag>> {
  static constexpr auto name =
      const_name("typing.Annotated[object, '") + const_name(Tag::contract) + const_name("']");
  template <typename>
  using cast_op_type = dlx::Array<Tag>;

  bool load(handle source, bool convert) {
    if (loan.take(dlx::Contract::of<Tag>(), source.ptr())) return true;
    /* The first pass over overloads allows no conversion: another overload may fit. */
    if (convert) throw error_already_set();
    PyErr_Clear();
    return false;
  }
  operator dlx::Array<Tag>() { return dlx::Array<Tag>(loan.borrowed()); }

  type_caster() noexcept {
    loan.failed = [] { PyErr_WriteUnraisable(nullptr); };
  }

  dlx::Loan loan;
};

}  // namespace detail
}  // namespace pybind11

#endif  // DLX_PYBIND11_H_
