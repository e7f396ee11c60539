#include "src/python/argument.h"

#include <cstring>
#include <memory>

#include "src/base/error.h"
#include "src/contract/contract.h"
#include "src/python/arguments.h"
#include "src/python/borrow.h"
#include "src/python/calls.h"
#include "src/python/entry.h"
#include "src/python/errors.h"
#include "src/python/reference.h"

namespace dlx::py {
namespace {

struct Argument {
  ~Argument() {
    if (contract != nullptr) dlx::release(contract);
  }

  Contract* contract = nullptr;
  bool whole = false;
  Ref pointer_class;  ///< a class of ctypes: its instances pass an address, and hold an owner
};

constexpr char kCapsule[] = "dlx.Array";

Argument* argument_of(PyObject* self) noexcept {
  return static_cast<Argument*>(api.PyCapsule_GetPointer(self, kCapsule));
}

void destroy(PyObject* capsule) {
  const WithoutPendingError aside;
  delete argument_of(capsule);
}

/// A pointer for ctypes that keeps `owner` as long as it lives, which is as long as the call.
Ref make_pointer(const Argument& argument, void* address, Ref owner) {
  const Ref number(check(api.PyLong_FromVoidPtr(address)));
  Ref pointer = call(argument.pointer_class.get(), number.get());
  // not covered: memory has run out
  if (owner && api.PyObject_SetAttrString(pointer.get(), "owner", owner.get()) != 0) {
    throw PythonError();  // not covered: memory has run out
  }
  return pointer;
}

/// The borrowed array in a bytes object, which ctypes passes as the address of its content.
Ref put_in_bytes(const Borrowed& borrowed) {
  Ref bytes(check(api.PyBytes_FromStringAndSize(nullptr, sizeof borrowed)));
  auto* const inside = reinterpret_cast<Borrowed*>(api.PyBytes_AsString(bytes.get()));
  std::memcpy(inside, &borrowed, sizeof borrowed);
  const int64_t* const room = borrowed.room;
  if (borrowed.array.shape == room) {
    inside->array.shape = inside->room;
    inside->array.strides = inside->room + (borrowed.array.strides - room);
  }
  return bytes;
}

PyObject* from_param(PyObject* self, PyObject* object) {
  const Argument& argument = *argument_of(self);
  return enter(argument.contract->parameters[0].name.c_str(), static_cast<PyObject*>(nullptr), [&] {
    Borrowed borrowed;
    Binding binding(*argument.contract);
    const Parameter& parameter = argument.contract->parameters[0];
    borrow(object, *argument.contract, parameter, [] { return nullptr; }, &binding, &borrowed);
    Ref owner(static_cast<PyObject*>(borrowed.owner));
    if (!argument.whole) {
      return make_pointer(argument, borrowed.array.data, static_cast<Ref&&>(owner)).detach();
    }
    Ref bytes = put_in_bytes(borrowed);
    if (!owner) return bytes.detach();
    void* const address = api.PyBytes_AsString(bytes.get());
    Ref pointer = make_pointer(argument, address, static_cast<Ref&&>(owner));
    // not covered: memory has run out
    if (api.PyObject_SetAttrString(pointer.get(), "memory", bytes.get()) != 0) throw PythonError();
    return pointer.detach();
  });
}

bool is_one_array(const Contract& contract) noexcept {
  if (contract.parameters.size() != 1) return false;
  const Parameter& only = contract.parameters[0];
  return only.kind == Kind::kArray && !only.optional;
}

PyMethodDef definition = plain_entry("from_param", from_param, METH_O,
                                     "from_param(x, /)\n--\n\nThe array as ctypes passes it to C.");

}  // namespace

PyObject* argument_from_python(PyObject*, PyObject* const* args, int64_t nargs, PyObject*) {
  return positional("Array", nargs, 3, [&] {
    const char* const text = to_text(args[0], "name");
    auto made = std::make_unique<Argument>();
    Contract* const contract = parse_contract(text);
    made->contract = contract;
    if (!is_one_array(*contract)) {
      fail(
          DLX_ERROR_INVALID_ARGUMENT,
          "`name`, `dtype` and `shape` must describe one array (got the contract \"%.200s\"): such "
          "as dlx.Array(\"float32\", shape=(None, 3), name=\"x\")",
          text);
    }
    made->whole = args[1] == api.true_;
    made->pointer_class = Ref::share(args[2]);
    Ref capsule(check(api.PyCapsule_New(made.get(), kCapsule, destroy)));
    made.release();  // NOLINT(bugprone-unused-return-value): the capsule owns it now
    return check(api.PyCFunction_NewEx(&definition, capsule.get(), nullptr));
  });
}

}  // namespace dlx::py
