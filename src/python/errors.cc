#include "src/python/errors.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <new>
#include <string>

#include "src/python/gil.h"
#include "src/python/reference.h"
#include "src/python/state.h"

namespace dlx::py {
namespace {

bool is_text(PyObject* object) noexcept {
  return object != nullptr && (api.PyType_GetFlags(class_of(object)) & kTypeFlagUnicode) != 0;
}

/// Sets the exception. The text may not be valid UTF-8: names of classes, capsules and formats may
/// be cut off inside a character.
void set_message(PyObject* exception, const char* text) noexcept {
  const Ref message(
      api.PyUnicode_DecodeUTF8(text, static_cast<int64_t>(std::strlen(text)), "replace"));
  // not covered: memory has run out
  if (message) api.PyErr_SetObject(exception, message.get());
}

}  // namespace

void set_error(int32_t status, const char* function, const char* message) noexcept {
  char text[Error::kMessageBytes + 64];
  std::snprintf(text, sizeof text, "%s: %s", function, message);
  // not covered: dlx has no other status
  PyObject* exception = state.errors[status >= 1 && status <= 8 ? status : 0];
  set_message(exception, text);
}

void raise(PyObject* exception, const char* format, ...) {
  char text[Error::kMessageBytes];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  set_message(exception, text);
  throw RaisedError();
}

namespace {

bool is_set(PyObject* error) noexcept { return api.PyErr_ExceptionMatches(error) != 0; }

/// A new text; none if `text` is no text.
Ref extended(const char* before, PyObject* text, const char* after) noexcept {
  const char* const inside = is_text(text) ? api.PyUnicode_AsUTF8AndSize(text, nullptr) : nullptr;
  if (inside == nullptr) return Ref();
  try {
    const std::string all = std::string(before) + inside + after;
    return Ref(api.PyUnicode_DecodeUTF8(all.data(), static_cast<int64_t>(all.size()), "replace"));
  } catch (const std::bad_alloc&) {  // not covered: memory has run out
    return Ref();                    // not covered: the same
  }
}

/// The same for the only argument of an exception.
void extend_argument(const char* before, PyObject* exception, const char* after) noexcept {
  const Ref old(api.PyObject_GetAttr(exception, names.args));
  if (!old || api.PyTuple_Size(old.get()) != 1) return;
  Ref text = extended(before, api.PyTuple_GetItem(old.get(), 0), after);
  const Ref args(text ? api.PyTuple_New(1) : nullptr);
  if (!args || api.PyTuple_SetItem(args.get(), 0, text.detach()) != 0) return;
  api.PyObject_SetAttrString(exception, "args", args.get());
}

}  // namespace

bool is_of_dlx() noexcept {
  return std::any_of(std::begin(state.errors), std::end(state.errors), is_set);
}

void extend_message(const char* before, const char* after) noexcept {
  if (!is_set(api.type_error) && !is_set(api.value_error) && !is_set(api.buffer_error) &&
      !is_of_dlx()) {
    return;
  }
  PyObject *type, *value, *traceback;
  api.PyErr_Fetch(&type, &value, &traceback);
  if (is_text(value)) {  // before CPython 3.12, what becomes the argument of the exception
    Ref text = extended(before, value, after);
    if (text) {
      api.Py_DecRef(value);
      value = text.detach();
    }
  } else if (value != nullptr) {
    extend_argument(before, value, after);
  }
  api.PyErr_Clear();
  api.PyErr_Restore(type, value, traceback);
}

namespace {

static_assert(sizeof(WithoutPendingError) <= sizeof(void*) * ErrorKeeper::kWords);

bool put_aside(void** room) noexcept {
  if (!have_gil()) return false;
  new (room) WithoutPendingError;
  return true;
}

void put_back(void** room) noexcept {
  std::launder(reinterpret_cast<WithoutPendingError*>(room))->~WithoutPendingError();
}

}  // namespace

const ErrorKeeper exception_keeper = {put_aside, put_back};

TakenError::~TakenError() {
  const WithoutPendingError aside;
  const Ref type(type_), value(value_), traceback(traceback_);
}

void TakenError::put_back() noexcept {
  api.PyErr_Clear();
  api.PyErr_Restore(type_, value_, traceback_);
  type_ = value_ = traceback_ = nullptr;
}

TypeText type_text(PyObject* type) noexcept {
  TypeText out;
  const WithoutPendingError aside;
  auto text_of = [type](PyObject* attribute, Ref* value) {
    *value = Ref(api.PyObject_GetAttr(type, attribute));
    const char* result =
        is_text(value->get()) ? api.PyUnicode_AsUTF8AndSize(value->get(), nullptr) : nullptr;
    api.PyErr_Clear();
    return result == nullptr ? "?" : result;
  };
  Ref module_value, name_value;
  const char* module = text_of(names.__module__, &module_value);
  const char* name = text_of(names.__qualname__, &name_value);
  if (std::strcmp(module, "builtins") == 0) {
    std::snprintf(out.text, sizeof out.text, "%s", name);
  } else {
    std::snprintf(out.text, sizeof out.text, "%s.%s", module, name);
  }
  return out;
}

void fail_by(const char* protocol, PyObject* object, const Error& error) {
  fail(error.status(), "%s of %s: %s", protocol, type_text(class_of(object)).text, error.what());
}

}  // namespace dlx::py
