/**
 * dlx for C++17: the functions of dlx.h with RAII owners, comparable value types and exceptions.
 *
 * Header only. It calls only the C interface, so it works with every libdlx.so of the same ABI,
 * from any compiler.
 *
 *     dlx::Tensor image = dlx::Tensor::from_dlpack(std::move(managed));
 *     dlx::Tensor planes = image.permute({2, 0, 1}).contiguous();
 *     const float first = planes.elements<const float, 3>()(0, 0, 0);
 *
 * A dlx::Tensor is a handle: copying it shares the tensor and costs one atomic addition. Moving it
 * leaves an empty handle, whose getters return 0 and whose other functions throw InvalidArgument.
 * Threads may share a tensor, but must lock assignments to a handle that another thread uses, as with a
 * std::shared_ptr. The functions behave as dlx.h describes, with two differences: a failed call
 * throws dlx::Error, and a managed tensor is a unique pointer (Managed, LegacyManaged).
 */
#ifndef DLX_DLX_HPP_
#define DLX_DLX_HPP_

#if __cplusplus < 201703L && !(defined(_MSVC_LANG) && _MSVC_LANG >= 201703L)
#error "dlx.hpp needs C++17 or newer"
#endif

#include <array>
#include <complex>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <ostream>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#if __has_include(<version>)
#include <version>
#endif
#if defined(__cpp_lib_mdspan)
#include <mdspan>
#endif
#if defined(__cpp_lib_ranges) && defined(__cpp_lib_span)
#include <span>
#endif

#include "dlx/dlx.h"

namespace dlx {

/* ---- errors -----------------------------------------------------------------------------------
 */

/** A failed call: its status, and its message as what(). Thrown as one of the classes below. */
class Error : public std::runtime_error {
 public:
  Error(dlx_status status, const std::string& message)
      : std::runtime_error(message), status_(status) {}

  dlx_status status() const noexcept { return status_; }

 private:
  dlx_status status_;
};

/** The Error of one status, to catch it separately. */
template <dlx_status kStatus>
class StatusError : public Error {
 public:
  explicit StatusError(const std::string& message) : Error(kStatus, message) {}
};

using InvalidArgument = StatusError<DLX_ERROR_INVALID_ARGUMENT>;
using OutOfMemory = StatusError<DLX_ERROR_OUT_OF_MEMORY>;
using Unsupported = StatusError<DLX_ERROR_UNSUPPORTED>;
using Unavailable = StatusError<DLX_ERROR_UNAVAILABLE>;
using DriverFailed = StatusError<DLX_ERROR_DRIVER>;
using ReadOnly = StatusError<DLX_ERROR_READ_ONLY>;
using CopyRefused = StatusError<DLX_ERROR_COPY_REFUSED>;
using DeviceRefused = StatusError<DLX_ERROR_DEVICE_REFUSED>;

/** Throws the Error of `status`, with dlx_last_error() as its message; does nothing for DLX_OK. */
inline void check(dlx_status status) {
  switch (status) {
    case DLX_OK: return;
    case DLX_ERROR_INVALID_ARGUMENT: throw InvalidArgument(dlx_last_error());
    case DLX_ERROR_OUT_OF_MEMORY: throw OutOfMemory(dlx_last_error());
    case DLX_ERROR_UNSUPPORTED: throw Unsupported(dlx_last_error());
    case DLX_ERROR_UNAVAILABLE: throw Unavailable(dlx_last_error());
    case DLX_ERROR_DRIVER: throw DriverFailed(dlx_last_error());
    case DLX_ERROR_READ_ONLY: throw ReadOnly(dlx_last_error());
    case DLX_ERROR_COPY_REFUSED: throw CopyRefused(dlx_last_error());
    case DLX_ERROR_DEVICE_REFUSED: throw DeviceRefused(dlx_last_error());
    default: throw Error(status, dlx_last_error());
  }
}

/* ---- values ----------------------------------------------------------------------------------- */

/** DLDataType of a C++ type as `value()`: bool, integers, float, double, std::complex of those two.
 * Specialise it for your own types, such as a half. (Not for long double, because its format
 * differs between machines.) */
template <typename T, typename = void>
struct DTypeOf;

template <int kCode, typename T>
struct ScalarDType {
  static constexpr DLDataType value() noexcept { return {kCode, 8 * sizeof(T), 1}; }
};
template <typename T>
struct DTypeOf<T, std::enable_if_t<std::is_integral_v<T> && !std::is_same_v<T, bool>>>
    : ScalarDType<std::is_unsigned_v<T> ? int{kDLUInt} : int{kDLInt}, T> {};
template <>
struct DTypeOf<bool> : ScalarDType<kDLBool, bool> {};
template <>
struct DTypeOf<float> : ScalarDType<kDLFloat, float> {};
template <>
struct DTypeOf<double> : ScalarDType<kDLFloat, double> {};
template <>
struct DTypeOf<std::complex<float>> : ScalarDType<kDLComplex, std::complex<float>> {};
template <>
struct DTypeOf<std::complex<double>> : ScalarDType<kDLComplex, std::complex<double>> {};

/** A data type: DLDataType with names. Converts from both, so a function accepts "float32". */
class DType {
 public:
  constexpr DType(DLDataType value) noexcept : value_(value) {}
  DType(const char* name) { check(dlx_dtype_parse(name, &value_)); }
  DType(const std::string& name) : DType(name.c_str()) {}

  template <typename T>
  static constexpr DType of() noexcept {
    return DTypeOf<std::remove_cv_t<T>>::value();
  }

  constexpr int code() const noexcept { return value_.code; }
  /** Bits of one lane. */
  constexpr int bits() const noexcept { return value_.bits; }
  constexpr int lanes() const noexcept { return value_.lanes; }
  std::string name() const {
    char text[DLX_NAME_SIZE];
    check(dlx_dtype_name(&value_, text, sizeof text));
    return text;
  }
  constexpr const DLDataType& get() const noexcept { return value_; }

  friend constexpr bool operator==(const DType& a, const DType& b) noexcept {
    return a.code() == b.code() && a.bits() == b.bits() && a.lanes() == b.lanes();
  }
  friend constexpr bool operator!=(const DType& a, const DType& b) noexcept { return !(a == b); }

 private:
  DLDataType value_{};
};

/** A device: its type (a kDL* number) and its id. Converts from DLDevice and from names such as
 * "cuda:0". */
class Device {
 public:
  constexpr Device(int32_t type = kDLCPU, int32_t id = 0) noexcept : type_(type), id_(id) {}
  constexpr Device(DLDevice device) noexcept
      : type_(static_cast<int32_t>(device.device_type)), id_(device.device_id) {}
  Device(const char* name) { check(dlx_device_parse(name, &type_, &id_)); }
  Device(const std::string& name) : Device(name.c_str()) {}

  constexpr int32_t type() const noexcept { return type_; }
  constexpr int32_t id() const noexcept { return id_; }
  constexpr DLDevice get() const noexcept { return {static_cast<DLDeviceType>(type_), id_}; }
  std::string name() const {
    char text[DLX_NAME_SIZE];
    check(dlx_device_name(type_, id_, text, sizeof text));
    return text;
  }
  /** Throws Unavailable if this machine does not have the device. */
  dlx_device_properties properties() const {
    dlx_device_properties out{};
    out.struct_size = sizeof out;
    check(dlx_device_info(type_, id_, &out));
    return out;
  }

  friend constexpr bool operator==(const Device& a, const Device& b) noexcept {
    return a.type_ == b.type_ && a.id_ == b.id_;
  }
  friend constexpr bool operator!=(const Device& a, const Device& b) noexcept { return !(a == b); }

 private:
  int32_t type_ = kDLCPU;
  int32_t id_ = 0;
};

/** Calls a managed tensor's own deleter, if it has one. */
struct ManagedDeleter {
  template <typename T>
  void operator()(T* managed) const noexcept {
    if (managed->deleter != nullptr) managed->deleter(managed);
  }
};
/** A tensor in transit between libraries; call release() for a library that takes a raw pointer. */
using Managed = std::unique_ptr<DLManagedTensorVersioned, ManagedDeleter>;
/** The same for the struct of DLPack before 1.0. */
using LegacyManaged = std::unique_ptr<DLManagedTensor, ManagedDeleter>;

/** Options start as the defaults; set the fields that differ. */
struct EmptyOptions : dlx_empty_options {
  EmptyOptions() noexcept : dlx_empty_options DLX_EMPTY_OPTIONS_INIT {}
};
struct CopyOptions : dlx_copy_options {
  CopyOptions() noexcept : dlx_copy_options DLX_COPY_OPTIONS_INIT {}
};
struct ExportOptions : dlx_export_options {
  ExportOptions() noexcept : dlx_export_options DLX_EXPORT_OPTIONS_INIT {}
};

/** Contiguous values that it does not own: std::span for C++17, and convertible to it. Converts
 * from anything with data() and size(), and, for the duration of a call, from a list in braces. */
template <typename T>
class Span {
 public:
  using value_type = std::remove_cv_t<T>;

  constexpr Span() noexcept = default;
  constexpr Span(T* data, size_t size) noexcept : data_(data), size_(size) {}
  template <
      typename Values,
      typename = std::enable_if_t<std::is_convertible_v<
          std::remove_pointer_t<decltype(std::data(std::declval<Values&>()))> (*)[], T (*)[]>>>
  constexpr Span(Values&& values) noexcept : data_(std::data(values)), size_(std::size(values)) {}
  template <typename U = T, typename = std::enable_if_t<std::is_const_v<U>>>
  constexpr Span(std::initializer_list<value_type> values) noexcept
      : data_(std::data(values)), size_(values.size()) {}

  constexpr T* data() const noexcept { return data_; }
  constexpr size_t size() const noexcept { return size_; }
  constexpr bool empty() const noexcept { return size_ == 0; }
  constexpr T* begin() const noexcept { return data_; }
  constexpr T* end() const noexcept { return data_ + size_; }
  /** `index` is not checked. */
  constexpr T& operator[](size_t index) const noexcept { return data_[index]; }

  friend constexpr bool operator==(Span a, Span b) {
    bool same = a.size_ == b.size_;
    for (size_t i = 0; same && i < a.size_; ++i) same = a[i] == b[i];
    return same;
  }
  friend constexpr bool operator!=(Span a, Span b) { return !(a == b); }

 private:
  T* data_ = nullptr;
  size_t size_ = 0;
};

/** Extents or strides; those of a tensor are valid as long as the tensor. */
using Extents = Span<const int64_t>;
/** Axis numbers. */
using Axes = Span<const int32_t>;

/** Access to elements by index, for any strides: `pixels(row, column)`. Does not own the memory. */
template <typename T, size_t kNdim>
class Elements {
 public:
  /** `shape` and `strides` have kNdim numbers. */
  Elements(T* data, const int64_t* shape, const int64_t* strides) noexcept : data_(data) {
    for (size_t axis = 0; axis < kNdim; ++axis) {
      shape_[axis] = shape[axis];
      strides_[axis] = strides[axis];
    }
  }

  int64_t extent(size_t axis) const noexcept { return shape_[axis]; }
  /** `indices` are not checked. */
  template <typename... Indices>
  T& operator()(Indices... indices) const noexcept {
    static_assert(sizeof...(Indices) == kNdim, "one index for each axis");
    [[maybe_unused]] size_t axis = 0;
    int64_t offset = 0;
    ((offset += static_cast<int64_t>(indices) * strides_[axis++]), ...);
    return data_[offset];
  }

 private:
  T* data_;
  std::array<int64_t, kNdim> shape_{}, strides_{};
};

/* ---- tensor ----------------------------------------------------------------------------------- */

/** A reference to a tensor. Copies share the tensor. */
class Tensor {
 public:
  /** An empty handle. */
  Tensor() noexcept = default;
  Tensor(const Tensor& other) noexcept : handle_(dlx_tensor_retain(other.handle_)) {}
  Tensor(Tensor&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Tensor& operator=(Tensor other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Tensor() { dlx_tensor_release(handle_); }

  /** Takes ownership of a reference that the C interface returned. */
  static Tensor adopt(dlx_tensor* owned) noexcept {
    Tensor out;
    out.handle_ = owned;
    return out;
  }
  /** Returns the reference, which the caller then owns, and leaves an empty handle. */
  dlx_tensor* release() noexcept { return std::exchange(handle_, nullptr); }
  dlx_tensor* get() const noexcept { return handle_; }
  explicit operator bool() const noexcept { return handle_ != nullptr; }

  /** Allocates a compact tensor; its data is uninitialised. */
  static Tensor empty(Extents shape, const DType& dtype, Device device = {},
                      const EmptyOptions& options = {}) {
    return make(dlx_tensor_empty, ndim_of(shape), shape.data(), &dtype.get(), device.type(),
                device.id(), &options);
  }

  /** Makes a tensor of existing memory. `deleter` is not called on failure. */
  static Tensor wrap(const DLTensor& description, uint64_t flags = 0,
                     dlx_deleter_fn deleter = nullptr, void* user_data = nullptr) {
    return make(dlx_tensor_wrap, &description, flags, deleter, user_data);
  }

  /** Makes a tensor of memory that `owner` keeps alive: any object whose destructor frees the
   * memory, such as a std::shared_ptr, or the std::vector that contains it; nullptr for memory that
   * outlives every user of the tensor. The tensor holds `owner` until nothing uses the memory, and
   * destroys it on failure. Throws InvalidArgument if the elements did not move with `owner` (a
   * copied std::vector, a std::array): move it, or allocate it on the heap. */
  template <typename Owner>
  static Tensor wrap_with(const DLTensor& description, Owner&& owner, uint64_t flags = 0) {
    using Kept = std::decay_t<Owner>;
    const bool inside = holds(owner, description.data, 0);
    auto kept = std::make_unique<Kept>(std::forward<Owner>(owner));
    if (inside && !holds(*kept, description.data, 0)) {
      throw InvalidArgument(
          "dlx::Tensor::wrap: the elements did not move with their owner (it was copied, or stores "
          "them inside itself): move it, or allocate it on the heap");
    }
    const dlx_deleter_fn drop = [](void*, void* self) { delete static_cast<Kept*>(self); };
    Tensor out = wrap(description, flags, drop, kept.get());
    static_cast<void>(kept.release());
    return out;
  }

  /** As wrap_with(), for elements of type T at `data`. The tensor is read-only if T is const, and
   * compact if there are no `strides`. */
  template <typename T, typename Owner>
  static Tensor wrap(T* data, Extents shape, Owner&& owner, Extents strides = {},
                     Device device = {}) {
    if (!strides.empty() && strides.size() != shape.size()) {
      throw InvalidArgument("dlx::Tensor::wrap: `strides` has " + std::to_string(strides.size()) +
                            " numbers (expected " + std::to_string(shape.size()) + ")");
    }
    /* By position: the oldest dlpack.h has another name for `device`. */
    const DLTensor description{const_cast<std::remove_cv_t<T>*>(data),
                               device.get(),
                               ndim_of(shape),
                               DType::of<T>().get(),
                               const_cast<int64_t*>(shape.data()),
                               strides.empty() ? nullptr : const_cast<int64_t*>(strides.data()),
                               0};
    const uint64_t flags = std::is_const_v<T> ? DLPACK_FLAG_BITMASK_READ_ONLY : 0;
    return wrap_with(description, std::forward<Owner>(owner), flags);
  }

  /** Imports `managed`, which is always consumed: on failure its deleter is called. */
  static Tensor from_dlpack(Managed managed) {
    dlx_tensor* out = nullptr;
    int32_t consumed = 0;
    const dlx_status status = dlx_tensor_from_dlpack_versioned(managed.get(), &consumed, &out);
    if (consumed != 0) static_cast<void>(managed.release());
    check(status);
    return adopt(out);
  }
  /** The same for the older struct; `flags` are the DLPACK_FLAG_BITMASK_* that it lacks. */
  static Tensor from_dlpack(LegacyManaged managed, uint64_t flags = 0) {
    Tensor out = make(dlx_tensor_from_dlpack, managed.get(), flags);
    static_cast<void>(managed.release());
    return out;
  }

  Managed to_dlpack(const ExportOptions& options = {}) const {
    DLManagedTensorVersioned* out = nullptr;
    check(dlx_tensor_to_dlpack_versioned(handle_, &options, &out));
    return Managed(out);
  }
  LegacyManaged to_legacy_dlpack(const ExportOptions& options = {}) const {
    DLManagedTensor* out = nullptr;
    check(dlx_tensor_to_dlpack(handle_, &options, &out));
    return LegacyManaged(out);
  }

  /** Of an empty handle: a description of nothing. */
  const DLTensor& dltensor() const noexcept {
    static constexpr DLTensor kNothing{};
    return handle_ != nullptr ? *dlx_tensor_dltensor(handle_) : kNothing;
  }
  int32_t ndim() const noexcept { return dlx_tensor_ndim(handle_); }
  Extents shape() const noexcept { return {dlx_tensor_shape(handle_), axes_count()}; }
  Extents strides() const noexcept { return {dlx_tensor_strides(handle_), axes_count()}; }
  DType dtype() const noexcept { return dltensor().dtype; }
  Device device() const noexcept {
    return {dlx_tensor_device_type(handle_), dlx_tensor_device_id(handle_)};
  }
  uint64_t flags() const noexcept { return dlx_tensor_flags(handle_); }
  bool readonly() const noexcept { return (flags() & DLPACK_FLAG_BITMASK_READ_ONLY) != 0; }
  int64_t size() const noexcept { return dlx_tensor_size(handle_); }
  int64_t nbytes() const noexcept { return dlx_tensor_nbytes(handle_); }
  bool is_contiguous(int32_t order = DLX_ORDER_C) const noexcept {
    return dlx_tensor_is_contiguous(handle_, order) != 0;
  }

  /** Address of the first element, on any device. */
  void* data() const noexcept { return dlx_tensor_data(handle_); }
  /** Address of the first element as a T*, in memory that the CPU can access.
   *
   * Throws InvalidArgument for another dtype and for elements not aligned for T, Unsupported for
   * another device, ReadOnly if T is not const but the data is read-only. Strides are not checked.
   * In pinned and managed memory, work that writes the data may be pending: see synchronize(). The
   * pointer does not keep the memory alive: assign the result of contiguous() or clone() to a
   * variable that outlives it. */
  template <typename T>
  T* data() const {
    if (handle_ == nullptr) throw InvalidArgument("dlx::Tensor::data: the handle is empty");
    if (dtype() != DType::of<T>()) {
      throw InvalidArgument("dlx::Tensor::data: the elements are " + dtype().name() + ", not " +
                            DType::of<T>().name());
    }
    const int32_t type = device().type();
    if (type != kDLCPU && type != kDLCUDAHost && type != kDLROCMHost && type != kDLCUDAManaged) {
      throw Unsupported("dlx::Tensor::data: the CPU cannot access memory on " + device().name());
    }
    if (!std::is_const_v<T> && readonly()) {
      throw ReadOnly("dlx::Tensor::data: the tensor is read-only: ask for const elements");
    }
    if (size() > 0 && reinterpret_cast<uintptr_t>(data()) % alignof(T) != 0) {
      throw InvalidArgument(
          "dlx::Tensor::data: the elements are not aligned for their type: clone() aligns them");
    }
    return static_cast<T*>(data());
  }
  /** All elements in C order, from data<T>(). Throws as data<T>() does, and InvalidArgument if the
   * elements are not compact: contiguous() packs them. */
  template <typename T>
  Span<T> span() const {
    T* first = data<T>();
    if (!is_contiguous()) {
      throw InvalidArgument(
          "dlx::Tensor::span: the elements are not compact: contiguous() packs them");
    }
    return {first, static_cast<size_t>(size())};
  }
  /** The elements by index, from data<T>(). Throws as data<T>() does, and InvalidArgument for
   * another number of axes. */
  template <typename T, size_t kNdim>
  Elements<T, kNdim> elements() const {
    T* first = data<T>();
    if (axes_count() != kNdim) {
      throw InvalidArgument("dlx::Tensor::elements: the tensor has " + std::to_string(ndim()) +
                            " axes, not " + std::to_string(kNdim));
    }
    return {first, shape().data(), strides().data()};
  }

#if defined(__cpp_lib_mdspan)
  /** The elements as a std::mdspan, from data<T>(). Throws as elements() does, and InvalidArgument for
   * strides below 1 on an axis with several elements, which a std::layout_stride cannot have. */
  template <typename T, size_t kNdim>
  std::mdspan<T, std::dextents<int64_t, kNdim>, std::layout_stride> mdspan() const {
    static_cast<void>(elements<T, kNdim>());
    std::array<int64_t, kNdim> extents{}, steps{};
    for (size_t axis = 0; axis < kNdim; ++axis) {
      extents[axis] = shape()[axis];
      steps[axis] = extents[axis] > 1 ? strides()[axis] : 1;
      if (steps[axis] < 1) {
        throw InvalidArgument("dlx::Tensor::mdspan: a stride is below 1: contiguous() packs them");
      }
    }
    return {data<T>(), std::layout_stride::mapping<std::dextents<int64_t, kNdim>>(
                           std::dextents<int64_t, kNdim>(extents), steps)};
  }
#endif

  /** Waits on the host until the data is ready. On the CPU it always is. */
  void synchronize() const { check(dlx_tensor_synchronize(handle_)); }
  /** Makes later work on `stream`, of the tensor's device, wait until the data is ready. */
  void wait_on_stream(int64_t stream) const { check(dlx_tensor_wait_on_stream(handle_, stream)); }
  /** Declares that the work submitted to `stream` so far writes the data; later uses wait. */
  void written_on_stream(int64_t stream) { check(dlx_tensor_written_on_stream(handle_, stream)); }

  Tensor slice(int32_t axis, int64_t start = DLX_SLICE_OPEN, int64_t stop = DLX_SLICE_OPEN,
               int64_t step = 1) const {
    return make(dlx_tensor_slice, handle_, axis, start, stop, step);
  }
  Tensor select(int32_t axis, int64_t index) const {
    return make(dlx_tensor_select, handle_, axis, index);
  }
  /** Throws InvalidArgument if `axes` does not have ndim() numbers. */
  Tensor permute(Axes axes) const {
    if (ndim_of(axes) != ndim()) {
      throw InvalidArgument("dlx::Tensor::permute: `axes` has " + std::to_string(axes.size()) +
                            " numbers (expected " + std::to_string(ndim()) + ")");
    }
    return make(dlx_tensor_permute, handle_, axes.data());
  }
  /** The axes reversed. */
  Tensor transpose() const { return make(dlx_tensor_permute, handle_, nullptr); }
  /** Removes all axes of extent 1. */
  Tensor squeeze() const { return make(dlx_tensor_squeeze, handle_, 0, nullptr); }
  /** Removes the named axes; none if `axes` is empty. */
  Tensor squeeze(Axes axes) const {
    if (axes.empty()) return *this;
    return make(dlx_tensor_squeeze, handle_, ndim_of(axes), axes.data());
  }
  Tensor expand_dims(int32_t axis) const { return make(dlx_tensor_expand_dims, handle_, axis); }
  Tensor broadcast_to(Extents shape) const {
    return make(dlx_tensor_broadcast_to, handle_, ndim_of(shape), shape.data());
  }
  Tensor bitcast(const DType& dtype) const {
    return make(dlx_tensor_bitcast, handle_, &dtype.get());
  }
  Tensor as_readonly() const { return make(dlx_tensor_as_readonly, handle_); }

  Tensor contiguous(const CopyOptions& options = {}) const {
    return make(dlx_tensor_contiguous, handle_, &options);
  }
  Tensor clone(const CopyOptions& options = {}) const {
    return make(dlx_tensor_clone, handle_, &options);
  }
  Tensor reshape(Extents shape, const CopyOptions& options = {}) const {
    return make(dlx_tensor_reshape, handle_, ndim_of(shape), shape.data(), &options);
  }
  Tensor to_device(Device device, const CopyOptions& options = {}) const {
    return make(dlx_tensor_to_device, handle_, device.type(), device.id(), &options);
  }
  /** Copies the elements of `source`, broadcast to this tensor's shape, into this tensor. */
  void copy_from(const Tensor& source, const CopyOptions& options = {}) {
    check(dlx_tensor_copy_from(handle_, source.handle_, &options));
  }

 private:
  /** Calls a function of the C interface whose last parameter is the output. */
  template <typename Function, typename... Arguments>
  static Tensor make(Function function, Arguments... arguments) {
    dlx_tensor* out = nullptr;
    check(function(arguments..., &out));
    return adopt(out);
  }

  /** A count above INT32_MAX becomes INT32_MAX, which dlx refuses. */
  template <typename T>
  static int32_t ndim_of(Span<T> axes) noexcept {
    return axes.size() > INT32_MAX ? INT32_MAX : static_cast<int32_t>(axes.size());
  }
  size_t axes_count() const noexcept { return static_cast<size_t>(ndim()); }

  /** Whether `address` is that of an element of `owner`; false if `owner` is not a container. */
  template <typename Owner>
  static auto holds(const Owner& owner, const void* address, int)
      -> decltype(std::data(owner) + std::size(owner), bool()) {
    const auto number = [](const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); };
    return number(address) >= number(std::data(owner)) &&
           number(address) < number(std::data(owner) + std::size(owner));
  }
  template <typename Owner>
  static bool holds(const Owner&, const void*, long) {
    return false;
  }

  dlx_tensor* handle_ = nullptr;
};

/* ---- stream ----------------------------------------------------------------------------------- */

/** A stream of a device, destroyed with this object; its pending work still completes. */
class Stream {
 public:
  explicit Stream(Device device) : device_(device) {
    check(dlx_stream_create(device.type(), device.id(), &stream_));
  }
  Stream(Stream&& other) noexcept
      : device_(other.device_),
        stream_(other.stream_),
        owned_(std::exchange(other.owned_, false)) {}
  Stream& operator=(Stream&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(stream_, other.stream_);
    std::swap(owned_, other.owned_);
    return *this;
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() {
    if (owned_) static_cast<void>(dlx_stream_destroy(device_.type(), device_.id(), stream_));
  }

  Device device() const noexcept { return device_; }
  /** The number of the stream, as options and drivers take it. */
  int64_t get() const noexcept { return stream_; }
  /** Waits on the host until all work submitted so far is done. */
  void synchronize() const { check(dlx_stream_synchronize(device_.type(), device_.id(), stream_)); }
  /** Makes later work start after all work submitted to `other` so far. */
  void wait(int64_t other) { check(dlx_stream_wait(device_.type(), device_.id(), stream_, other)); }

 private:
  Device device_;
  int64_t stream_ = 0;
  bool owned_ = true;
};

/** Makes a stream the thread's current stream of its device, and the previous one at the end. */
class CurrentStream {
 public:
  CurrentStream(Device device, int64_t stream) : device_(device) {
    check(dlx_stream_get_current(device.type(), device.id(), &previous_));
    check(dlx_stream_set_current(device.type(), device.id(), stream));
  }
  explicit CurrentStream(const Stream& stream) : CurrentStream(stream.device(), stream.get()) {}
  CurrentStream(const CurrentStream&) = delete;
  CurrentStream& operator=(const CurrentStream&) = delete;
  ~CurrentStream() {
    static_cast<void>(dlx_stream_set_current(device_.type(), device_.id(), previous_));
  }

 private:
  Device device_;
  int64_t previous_ = 0;
};

/* ---- text ------------------------------------------------------------------------------------- */

inline std::ostream& operator<<(std::ostream& out, const DType& dtype) {
  return out << dtype.name();
}
inline std::ostream& operator<<(std::ostream& out, const Device& device) {
  return out << device.name();
}
/** "Tensor(float32, (2, 3), cpu)": a description, without elements. */
inline std::ostream& operator<<(std::ostream& out, const Tensor& tensor) {
  if (!tensor) return out << "Tensor()";
  out << "Tensor(" << tensor.dtype() << ", (";
  for (int32_t axis = 0; axis < tensor.ndim(); ++axis) {
    out << (axis > 0 ? ", " : "") << tensor.shape()[static_cast<size_t>(axis)];
  }
  out << (tensor.ndim() == 1 ? ",), " : "), ") << tensor.device();
  return out << (tensor.readonly() ? ", read-only)" : ")");
}

}  // namespace dlx

#if defined(__cpp_lib_ranges) && defined(__cpp_lib_span)
/* Iterators stay valid after the Span is destroyed, so a returned Span converts to a std::span. */
template <typename T>
inline constexpr bool std::ranges::enable_borrowed_range<dlx::Span<T>> = true;
#endif

#endif  // DLX_DLX_HPP_
