/**
 * dlx in extensions of nanobind: functions of dlx::Tensor and of dlx::Array are bound as they are,
 * and take the arrays of every library.
 *     NB_MODULE(images, m) {
 *       dlx::translate_nanobind_errors();
 *       m.def("invert", &invert);  // void invert(const dlx::Array<Image>&); see dlx/python.hpp
 *       m.attr("blur") = dlx::nanobind_function(&blur, "blur(image: uint8[h, w], …)");
 *     }
 *
 * - **dlx::Array<Tag>** costs least: the memory is borrowed for the call, and no object is made.
 *   What does not fit the contract raises dlx's error, or, among overloads, leaves the call to the
 *   next one; if none fits, the last one that is asked for a conversion says why.
 * - **dlx::Tensor** takes what dlx.asarray takes, and may be kept. Containers of Tensors work too.
 * - **Results**: a dlx::Tensor becomes a dlx.Tensor.
 * - **The GIL** is held while arguments are read and results made; nb::call_guard gives it away
 *   during the function. **Errors** of dlx become dlx's classes of Python by the translator.
 * - The Python package must have been imported before (`import dlx`); the module loads its library.
 */
#ifndef DLX_NANOBIND_H_
#define DLX_NANOBIND_H_

#include <nanobind/nanobind.h>

#include <exception>
#include <utility>

#include "dlx/python.hpp"

namespace dlx {

/** Makes dlx::Error a Python exception of its status's class in this module. */
inline void translate_nanobind_errors() {
  nanobind::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const Error& error) {
      nanobind::object raised = nanobind::module_::import_("dlx.errors")
                                    .attr("from_status")(int{error.status()}, error.what());
      PyErr_SetObject(raised.type().ptr(), raised.ptr());
    }
  });
}

/** dlx.function of a C function: checked by the whole contract, with defaults and results, and as
 * fast as C calls from Python are. A contract that is wrong throws. */
template <typename Function>
nanobind::object nanobind_function(Function* function, const char* contract,
                                   const char* doc = nullptr) {
  void* made = nullptr;
  try {
    made = make_python_function(function, contract, doc);
  } catch (const Error&) {
    if (PyErr_Occurred() != nullptr) throw nanobind::python_error();
    throw;
  }
  return nanobind::steal(static_cast<PyObject*>(made));
}

}  // namespace dlx

NAMESPACE_BEGIN(NB_NAMESPACE)
NAMESPACE_BEGIN(detail)

template <>
struct type_caster<dlx::Tensor> {
  using Value = dlx::Tensor;
  template <typename>
  using Cast = dlx::Tensor;
  static constexpr auto Name = const_name("dlx.Tensor");

  bool from_python(handle source, uint32_t, cleanup_list*) noexcept {
    try {
      dlx_tensor* tensor = nullptr;
      const object array = module_::import_("dlx").attr("asarray")(source);
      dlx::check(dlx_python_unwrap(array.ptr(), &tensor));
      value = dlx::Tensor::adopt(dlx_tensor_retain(tensor));
    } catch (...) {
      refused = std::current_exception(); /* nothing may leave this function */
    }
    return true;
  }
  template <typename>
  bool can_cast() const noexcept { /* containers ask */
    return refused == nullptr;
  }
  operator dlx::Tensor() {
    if (refused) std::rethrow_exception(refused);
    return std::move(value);
  }
  static handle from_cpp(const dlx::Tensor& tensor, rv_policy, cleanup_list*) {
    void* object;
    dlx::check(dlx_python_wrap(tensor.get(), &object));
    return static_cast<PyObject*>(object);
  }

  dlx::Tensor value;
  std::exception_ptr refused;
};

template <typename Tag>
struct type_caster<dlx::Array<Tag>> {
  using Value = dlx::Array<Tag>;
  template <typename>
  using Cast = dlx::Array<Tag>;
  static constexpr auto Name =
      const_name("typing.Annotated[object, '") + const_name(Tag::contract) + const_name("']");

  bool from_python(handle source, uint32_t flags, cleanup_list*) noexcept {
    try {
      if (loan.take(dlx::Contract::of<Tag>(), source.ptr())) return true;
      /* The first pass over overloads allows no conversion: another overload may fit. */
      if ((flags & (uint32_t)cast_flags::convert) == 0) {
        PyErr_Clear();
        return false;
      }
      throw python_error();
    } catch (...) {
      refused = std::current_exception();
    }
    return true;
  }
  template <typename>
  bool can_cast() const noexcept { /* containers, which would outlive the loan, ask */
    return false;
  }
  operator dlx::Array<Tag>() {
    if (refused) std::rethrow_exception(refused);
    return dlx::Array<Tag>(loan.borrowed());
  }

  type_caster() noexcept {
    loan.failed = [] { PyErr_WriteUnraisable(nullptr); };
  }

  dlx::Loan loan;
  std::exception_ptr refused;
};

NAMESPACE_END(detail)
NAMESPACE_END(NB_NAMESPACE)

#endif  // DLX_NANOBIND_H_
