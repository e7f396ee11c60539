#ifndef DLX_TESTS_SRC_DEVICE_SCRIPTED_BACKEND_H_
#define DLX_TESTS_SRC_DEVICE_SCRIPTED_BACKEND_H_

#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "src/base/error.h"
#include "src/device/backend.h"

namespace dlx_test {

/// A device that only logs its calls, and fails as the test says.
class ScriptedBackend final : public dlx::Backend {
 public:
  std::vector<std::string> log;
  std::string failing;            ///< the call that fails
  std::function<void()> on_wait;  ///< during wait_on_host()
  int busy = 0;                   ///< so many times is_done() says no
  int events = 0;                 ///< that nobody released
  int pinned = 0;                 ///< pieces of memory that nobody freed

  bool was_called(const std::string& call) const {
    for (const std::string& each : log) {
      if (each == call) return true;
    }
    return false;
  }

  int32_t count() override { return 1; }
  const char* reason() override { return ""; }
  void describe(int32_t, dlx_device_properties*) override {}
  void* allocate(int32_t, int32_t, size_t, size_t) override { return nullptr; }
  void deallocate(int32_t, int32_t, void*) noexcept override {}
  void* allocate_pinned(int32_t, size_t size) override {
    call("allocate_pinned");
    ++pinned;
    return memory_.emplace_back(std::malloc(size));
  }
  void deallocate_pinned(void* data) noexcept override {
    log.emplace_back("deallocate_pinned");
    --pinned;
    std::free(data);
  }
  void synchronize(int32_t) override { call("synchronize"); }

  bool has_streams() const noexcept override { return true; }
  void synchronize_stream(int32_t, dlx::StreamHandle stream) override {
    call("synchronize_stream " + std::to_string(stream));
  }
  dlx::EventHandle record(int32_t, dlx::StreamHandle) override {
    call("record");
    ++events;
    return new char;
  }
  void wait(int32_t, dlx::StreamHandle, dlx::EventHandle) override { call("wait"); }
  void wait_on_host(int32_t, dlx::EventHandle) override {
    call("wait_on_host");
    if (on_wait != nullptr) on_wait();
  }
  bool is_done(int32_t, dlx::EventHandle) override {
    call("is_done");
    return --busy < 0;
  }
  void release_event(int32_t, dlx::EventHandle event) noexcept override {
    --events;
    delete static_cast<char*>(event);
  }

  void copy_from_host(int32_t, dlx::StreamHandle, dlx::DeviceAddress, const void*,
                      size_t) override {}
  void copy_to_host(int32_t, dlx::StreamHandle, void*, dlx::DeviceAddress, size_t) override {}
  void copy_on_device(int32_t, dlx::DeviceAddress, int32_t, dlx::DeviceAddress, dlx::StreamHandle,
                      size_t) override {}

 private:
  std::vector<void*> memory_;  // all that there ever was: what dlx gives up is no leak of the test

  void call(const std::string& name) {
    log.push_back(name);
    if (name == failing) dlx::fail(DLX_ERROR_DRIVER, "%s fails", name.c_str());
  }
};

}  // namespace dlx_test

#endif  // DLX_TESTS_SRC_DEVICE_SCRIPTED_BACKEND_H_
