#include "tests/stubs/engine.h"

#include <unistd.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace fake {

void die(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  std::fprintf(stderr, "fake driver: %s: ", engine().current_call);
  std::vfprintf(stderr, format, arguments);
  std::fputc('\n', stderr);
  va_end(arguments);
  std::abort();
}

Thread& this_thread() {
  // Owned by the engine, because static destructors may call after the main thread's own were
  // destroyed.
  thread_local Thread* thread = nullptr;
  if (thread == nullptr) {
    Engine& e = engine();
    const std::lock_guard<std::recursive_mutex> lock(e.lock);
    thread = &e.threads.emplace_back();
  }
  return *thread;
}

Engine& engine() {
  static auto* engine = new Engine;  // outlives the exit of the process, as a driver does
  return *engine;
}

Engine::Engine() {
  const char* text = std::getenv("FAKE_DEVICES");
  devices.resize(text == nullptr ? 1 : std::strtoul(text, nullptr, 10));
  int ordinal = 0;
  for (Device& device : devices) device.ordinal = ordinal++;
  if ((text = std::getenv("FAKE_FAIL_AT")) != nullptr) {
    char* end;
    fail_in = std::strtoll(text, &end, 10);
    fail_code = *end == ':' ? std::atoi(end + 1) : 999;
  }
  if ((text = std::getenv("FAKE_STUB")) != nullptr) is_stub = std::strcmp(text, "1") == 0;
  if ((text = std::getenv("FAKE_VERSION")) != nullptr) version = std::atoi(text);
  if ((text = std::getenv("FAKE_ARCH")) != nullptr) arch = text;
}

// ---- calls ----------------------------------------------------------------------------------------

Call::Call(const char* name, Needs needs) {
  Engine& e = engine();
  if (e.is_stub) {
    error_ = kStub;
    return;
  }
  // A forked child has no driver, and another thread of the parent may have held the lock.
  if (e.pid != 0 && e.pid != getpid()) {
    ++e.forked_calls;
    error_ = kNotInitialized;
    return;
  }
  lock_ = std::unique_lock(e.lock);
  outer_ = e.current_call;
  e.current_call = name;
  e.log.emplace_back(name);
  if ((e.fail_in > 0 && --e.fail_in == 0) || e.fail_name == name) {
    e.failed_call = name;
    error_ = e.fail_code;
  } else if (e.is_shut_down) {
    error_ = kDeinitialized;
  } else if (needs == kInitialized && e.pid == 0) {
    error_ = kNotInitialized;
  } else {
    progress();
  }
}

Call::~Call() {
  if (lock_) engine().current_call = outer_;
}

int initialize() {
  engine().pid = getpid();
  return engine().devices.empty() ? kNoDevice : kOk;
}

int unsafe_call() {
  const Thread& thread = this_thread();
  if (thread.capture_mode == 2) return kOk;
  int result = kOk;
  for (Capture* capture : engine().captures) {
    const bool own = capture->thread == std::this_thread::get_id() && capture->mode != 2;
    const bool other = thread.capture_mode == 0 && capture->mode == 0;
    if (own || other) result = invalidate(capture, kCaptureUnsupported);
  }
  return result;
}

const ErrorText* error_text(int code) {
  static constexpr ErrorText kTexts[] = {
#define FAKE_ERROR(code, cuda, hip, text) {code, cuda, hip, text},
#include "tests/stubs/errors.inc"
#undef FAKE_ERROR
  };
  for (const ErrorText& text : kTexts) {
    if (text.code == code) return &text;
  }
  return nullptr;
}

// ---- contexts -------------------------------------------------------------------------------------

Device* find_device(int ordinal) {
  auto& devices = engine().devices;
  if (ordinal < 0 || static_cast<size_t>(ordinal) >= devices.size()) return nullptr;
  return &devices[static_cast<size_t>(ordinal)];
}

Context* make_context(Device* device, bool primary) {
  auto* context = engine().add<Context>();
  context->device = device;
  context->primary = primary;
  context->legacy = engine().add<Stream>();
  context->legacy->context = context;
  context->legacy->implicit = true;
  return context;
}

void end_context(Context* context) {
  Engine& e = engine();
  for (const auto& object : e.objects) {
    if (auto* stream = dynamic_cast<Stream*>(object.get()); stream && stream->context == context) {
      stream->alive = false;
    } else if (auto* event = dynamic_cast<Event*>(object.get());
               event && event->context == context) {
      event->alive = false;
    } else if (auto* module = dynamic_cast<Module*>(object.get());
               module && module->context == context) {
      module->alive = false;
    }
  }
  e.pending.remove_if([&](const WorkPtr& work) {
    if (work->context != context) return false;
    work->done = true;
    return true;
  });
  for (auto& [start, allocation] : e.memory) {
    if (allocation.context == context && !allocation.freed) {
      allocation.live = false;
      allocation.freed = true;
      context->device->used -= allocation.kind == Memory::kHost ? 0 : allocation.size;
    }
  }
  context->alive = false;
}

int retain_primary(Device* device, Context** out) {
  if (device->primary == nullptr) device->primary = make_context(device, true);
  ++device->retains;
  *out = device->primary;
  return kOk;
}

int release_primary(Device* device) {
  if (device->retains == 0) return kInvalidContext;
  if (--device->retains == 0) {
    end_context(device->primary);
    device->primary = nullptr;
  }
  return kOk;
}

}  // namespace fake
