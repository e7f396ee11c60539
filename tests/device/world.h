// The world of a device-suite case: a driver (real or fake), dlx on top of it, and another library
// that uses the same devices.
#ifndef DLX_TESTS_DEVICE_WORLD_H_
#define DLX_TESTS_DEVICE_WORLD_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "dlx/dlx.h"
#include "tests/stubs/control.h"
#include "tests/stubs/forked.h"

namespace dlx_test {

/// A kind of driver that the suite runs on.
struct Api {
  const char* name;
  const char* variable;  ///< of the environment, that chooses the driver's file
  const char* fake;      ///< file of the fake; NULL: the machine's own driver
  int32_t device;        ///< kDLCUDA, kDLROCM
  int32_t pinned;
  int64_t default_stream;
  bool is_cuda() const { return device == kDLCUDA; }
};

/// A tensor, released at the end.
class Tensor {
 public:
  Tensor() = default;
  Tensor(Tensor&& other) noexcept : tensor_(other.tensor_) { other.tensor_ = nullptr; }
  Tensor& operator=(Tensor&& other) noexcept {
    std::swap(tensor_, other.tensor_);
    return *this;
  }
  ~Tensor() { dlx_tensor_release(tensor_); }

  dlx_tensor* get() const { return tensor_; }
  dlx_tensor** out() {
    release();
    return &tensor_;
  }
  void release() {
    dlx_tensor_release(tensor_);
    tensor_ = nullptr;
  }
  const DLTensor* description() const { return dlx_tensor_dltensor(tensor_); }
  void* data() const { return dlx_tensor_data(tensor_); }

 private:
  dlx_tensor* tensor_ = nullptr;
};

/// Checks that the call succeeds; otherwise the case ends with its message.
#define OK(call)                                                                            \
  do {                                                                                      \
    if ((call) != DLX_OK) {                                                                 \
      std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, dlx_last_error()); \
      std::fflush(nullptr);                                                                 \
      _exit(1);                                                                             \
    }                                                                                       \
  } while (0)
/// Checks that the call fails with that status and that message.
#define FAILS(call, expected, words) \
  dlx_test::check_fails(__FILE__, __LINE__, call, expected, words)
void check_fails(const char* file, int line, dlx_status status, dlx_status expected,
                 const char* words);

class World {
 public:
  World(const Api& api, const std::string& schedule, int devices);

  const Api api;
  std::unique_ptr<Fake> fake;  ///< NULL on a real driver
  const int devices;

  // ---- dlx ----
  DLDataType int32() const { return {kDLInt, 32, 1}; }
  Tensor empty(const std::vector<int64_t>& shape, int32_t device = 0, int32_t type = 0);
  /// A tensor that wraps memory of the test.
  Tensor wrap(std::vector<int32_t>& data, const std::vector<int64_t>& shape);
  /// A compact copy of the numbers on a device.
  Tensor upload(std::vector<int32_t>& data, const std::vector<int64_t>& shape, int32_t device = 0);
  /// The elements in C order, transferred to the CPU.
  std::vector<int32_t> download(const Tensor& tensor);
  /// Runs all pending work of the devices, so that a missing wait shows. Later waits are not
  /// counted.
  void finish();
  int64_t stream(int32_t device = 0);
  void destroy(int64_t stream, int32_t device = 0);

  // ---- another library, which makes a device current only while it works ----
  void foreign(int32_t device, const std::function<void()>& body);
  void* foreign_stream(bool blocking = false);
  void foreign_destroy(void* stream);
  void* foreign_memory(size_t size);
  void foreign_free(void* data);
  /// Sets every byte, on a stream.
  void foreign_set(void* data, int value, size_t size, void* stream);
  int foreign_begin_capture(void* stream, int mode);
  int foreign_end_capture(void* stream, void** graph);
  void foreign_launch(void* graph, void* stream);
  void foreign_wait(void* stream);
  /// The current context (CUDA) or device (HIP) of this thread.
  intptr_t foreign_current();

  /// A driver function that only this case needs.
  template <typename F>
  void load(const char* symbol, F** out) const {
    *out = reinterpret_cast<F*>(find(symbol));
  }

  /// Checks that all work is done, nothing leaked and no rule was broken.
  void check_clean(int64_t streams = 0);

 private:
  using Call1 = int(void*);
  void* find(const char* symbol) const;
  template <typename F>
  void load(const char* cuda, const char* hip, F** out) const {
    load(api.is_cuda() ? cuda : hip, out);
  }
  void* handle_ = nullptr;
  std::vector<void*> contexts_;
  int (*init_)(unsigned);
  int (*retain_)(void**, int) = nullptr;
  int (*push_)(void*) = nullptr;
  int (*pop_)(void**) = nullptr;
  int (*current_)(void**) = nullptr;
  int (*set_device_)(int) = nullptr;
  int (*get_device_)(int*) = nullptr;
  int (*stream_create_)(void**, unsigned);
  Call1 *stream_destroy_, *stream_synchronize_, *free_;
  int (*allocate_)(void**, size_t);
  int (*set_)(void*, unsigned char, size_t, void*);
  int (*begin_capture_)(void*, int);
  int (*end_capture_)(void*, void**);
  int (*instantiate_)(void**, void*, uint64_t, uint64_t, uint64_t);
  int (*launch_)(void*, void*);
};

std::vector<int32_t> numbers(size_t count, int32_t first = 0);

/// A stream in the array API's numbering.
inline int64_t number(void* stream) { return reinterpret_cast<int64_t>(stream); }
/// Options for a copy on that stream.
dlx_copy_options on(int64_t stream);
/// Options for an export for that stream.
dlx_export_options export_on(int64_t stream);

/// A tensor of 1024 bytes that another library fills on its own stream; dlx is told about the work.
struct Written {
  Tensor tensor;
  void* stream = nullptr;
};
Written fill_elsewhere(World& world, int value, int32_t device = 0, int32_t type = 0);
/// The library destroys its stream.
void end(World& world, const Written& written, int32_t device = 0);

/// A view with the axes reversed.
Tensor transpose(const Tensor& tensor);
/// A compact copy on the same device.
Tensor compact(const Tensor& tensor);

}  // namespace dlx_test

#endif  // DLX_TESTS_DEVICE_WORLD_H_
