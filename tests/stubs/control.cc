// The control functions of fake.h.
#include <cstdlib>
#include <cstring>

#include "tests/stubs/engine.h"

namespace fake {
namespace {

using Lock = std::lock_guard<std::recursive_mutex>;

std::string joined_log;

void set_schedule_of(Engine& e, const char* text) {
  if (std::strcmp(text, "eager") == 0) {
    e.schedule = Schedule::kEager;
  } else if (std::strcmp(text, "latest") == 0) {
    e.schedule = Schedule::kLatest;
  } else if (std::strncmp(text, "random:", 7) == 0) {
    e.schedule = Schedule::kRandom;
    e.random.seed(std::strtoull(text + 7, nullptr, 10));
  } else {
    die("no schedule is called %s", text);
  }
}

}  // namespace
}  // namespace fake

using namespace fake;

FAKE_EXPORT void fake_set_schedule(const char* schedule) {
  const Lock lock(engine().lock);
  set_schedule_of(engine(), schedule);
}

FAKE_EXPORT void fake_finish() {
  Engine& e = engine();
  const Lock lock(e.lock);
  std::vector<WorkPtr> targets;
  for (const WorkPtr& work : e.pending) {
    // Work after blocked work stays pending. One pass is enough, because it follows submission
    // order.
    bool held = work->blocked;
    for (const WorkPtr& before : work->after) {
      bool chosen = before->done;
      for (const WorkPtr& target : targets) chosen = chosen || target == before;
      held = held || !chosen;
    }
    if (!held) targets.push_back(work);
  }
  host_wait(targets);
  for (Device& device : e.devices) open_managed(&device);
}

FAKE_EXPORT void fake_fail_nth_call(int64_t n, int code) {
  const Lock lock(engine().lock);
  engine().fail_in = n;
  engine().fail_code = code;
  engine().failed_call.clear();
}
FAKE_EXPORT void fake_fail_calls_of(const char* name, int code) {
  const Lock lock(engine().lock);
  engine().fail_name = name == nullptr ? "" : name;
  engine().fail_code = code;
}
FAKE_EXPORT const char* fake_failed_call() { return engine().failed_call.c_str(); }

FAKE_EXPORT void fake_ignore_nth_wait(int64_t n) {
  const Lock lock(engine().lock);
  engine().ignore_in = n;
  engine().ignored_wait.clear();
}
FAKE_EXPORT void fake_count_waits(int on) { this_thread().counts_waits = on != 0; }
FAKE_EXPORT const char* fake_ignored_wait() { return engine().ignored_wait.c_str(); }

FAKE_EXPORT void fake_break_next_work(int code) {
  const Lock lock(engine().lock);
  engine().break_next = code;
}

FAKE_EXPORT void fake_block_stream(void* handle) {
  const Lock lock(engine().lock);
  Stream* stream = nullptr;
  if (find_stream(handle, current_context(), &stream) != kOk || submit_blocked(stream) != kOk) {
    die("fake_block_stream: no such stream");
  }
}
FAKE_EXPORT void fake_unblock() {
  const Lock lock(engine().lock);
  for (const WorkPtr& work : engine().pending) work->blocked = false;
  progress();
}

FAKE_EXPORT void fake_shutdown() { engine().is_shut_down = true; }
FAKE_EXPORT void fake_set_stub(int stub) { engine().is_stub = stub != 0; }
FAKE_EXPORT void fake_set_version(int version) { engine().version = version; }
FAKE_EXPORT void fake_set_modes_need_context(int on) { engine().modes_need_context = on != 0; }
FAKE_EXPORT void fake_set_host_pools(int on) { engine().host_pools = on != 0; }
FAKE_EXPORT void fake_set_sliced(int sliced) { engine().sliced = sliced != 0; }
FAKE_EXPORT void fake_set_arch(const char* arch) { engine().arch = arch; }
FAKE_EXPORT void fake_set_devices(int count) {
  Engine& e = engine();
  const Lock lock(e.lock);
  if (e.pid != 0) die("fake_set_devices: after initialisation");
  e.devices.resize(static_cast<size_t>(count));
  for (int k = 0; k < count; ++k) e.devices[static_cast<size_t>(k)].ordinal = k;
}
FAKE_EXPORT void fake_set_attribute(int device, int attribute, int value) {
  const Lock lock(engine().lock);
  find_device(device)->attributes[attribute] = value;
}
FAKE_EXPORT void fake_set_memory(int device, size_t bytes) {
  const Lock lock(engine().lock);
  find_device(device)->memory = bytes;
}
FAKE_EXPORT void fake_set_host_memory(size_t bytes) {
  const Lock lock(engine().lock);
  engine().host_memory = bytes;
}

FAKE_EXPORT void fake_reuse_addresses() {
  const Lock lock(engine().lock);
  reuse_addresses();
}

FAKE_EXPORT void fake_get_report(fake_report* out) {
  Engine& e = engine();
  const Lock lock(e.lock);
  *out = e.mistakes;
  for (const auto& object : e.objects) {
    if (!object->alive) continue;
    if (auto* context = dynamic_cast<Context*>(object.get())) out->contexts += !context->primary;
    if (auto* stream = dynamic_cast<Stream*>(object.get())) out->streams += !stream->implicit;
    if (auto* pool = dynamic_cast<Pool*>(object.get()); pool != nullptr && !pool->standard) {
      ++out->pools;
      out->pools_keep += pool->keeps;
    }
  }
  for (const Device& device : e.devices) out->primary_retains += device.retains;
  out->events = e.count<Event>();
  out->modules = e.count<Module>();
  out->graphs = e.count<Capture>() + e.count<GraphExec>();
  for (const auto& [start, allocation] : e.memory) {
    if (allocation.freed || allocation.kind == Memory::kRegistered) continue;
    ++(allocation.kind == Memory::kHost ? out->host_allocations : out->allocations);
  }
  out->pending = static_cast<int64_t>(e.pending.size());
  out->pushed = static_cast<int64_t>(this_thread().stack.size());
}

FAKE_EXPORT int64_t fake_calls(const char* name) {
  Engine& e = engine();
  const Lock lock(e.lock);
  int64_t n = 0;
  for (const std::string& call : e.log) n += call == name;
  return n;
}
FAKE_EXPORT int64_t fake_all_calls() {
  return static_cast<int64_t>(engine().log.size()) + engine().forked_calls;
}
FAKE_EXPORT int64_t fake_waits() { return engine().wait_count; }
FAKE_EXPORT const char* fake_call_log() {
  const Lock lock(engine().lock);
  joined_log.clear();
  for (const std::string& call : engine().log) joined_log += call + "\n";
  return joined_log.c_str();
}
FAKE_EXPORT void fake_clear_log() {
  const Lock lock(engine().lock);
  engine().log.clear();
  engine().forked_calls = 0;
  engine().wait_count = 0;
}

FAKE_EXPORT int fake_peek(uint64_t address, void* out, size_t size) {
  const Lock lock(engine().lock);
  if (find_memory(address) == nullptr) return 0;
  const Reach memory(address, size);
  if (memory.error() != kOk) return 0;
  std::memcpy(out, memory.data(), size);
  return 1;
}
FAKE_EXPORT int fake_poke(uint64_t address, const void* data, size_t size) {
  const Lock lock(engine().lock);
  if (find_memory(address) == nullptr) return 0;
  const Reach memory(address, size);
  if (memory.error() != kOk) return 0;
  std::memcpy(memory.data(), data, size);
  return 1;
}
