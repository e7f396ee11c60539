#ifndef DLX_TESTS_SRC_TENSOR_LATE_DEVICE_H_
#define DLX_TESTS_SRC_TENSOR_LATE_DEVICE_H_

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "dlx/dlx.h"

namespace dlx_test {

/// A device for dlx_register_backend that makes errors of synchronisation visible: the CPU cannot
/// use the addresses of its memory (or it is a handle), and its streams do nothing before a wait.
class LateDevice {
 public:
  enum { kHandles = 1, kStreams = 2, kKernels = 4 };

  explicit LateDevice(int flags) : flags_(flags) {}

  dlx_backend functions();

  /// Work that has not been waited for.
  size_t pending() const;
  /// The errors found: memory freed during pending work, unknown memory, …; "" if none.
  const std::string& trouble() const { return trouble_; }
  size_t live_memory() const { return memory_.size(); }
  size_t live_events() const { return events_; }

  /// Host view of device memory, for the test itself.
  char* look(const void* data, uint64_t offset);
  /// Runs all work.
  void finish();
  /// From now on leaves out every n-th wait between streams; 0: none.
  void ignore_wait(int n) { ignore_wait_ = n; }
  int waits() const { return waits_; }

 private:
  struct Job {
    std::function<void()> run;
    std::vector<const char*> uses;  // starts of allocations
  };
  struct Stream {
    std::deque<Job> jobs;
    uint64_t done = 0;  // jobs that have run
  };
  struct Event {
    int64_t stream;
    uint64_t position;
  };

  static constexpr uintptr_t kShift = uintptr_t{1} << 46;

  static LateDevice& self(void* user_data) { return *static_cast<LateDevice*>(user_data); }
  const char* allocation_of(const char* real);
  void add(int64_t stream, std::vector<const char*> uses, std::function<void()> job);
  void run_until(int64_t stream, uint64_t position);
  int copy_strided(const DLTensor& dst, const DLTensor& src, int64_t stream);

  int flags_;
  std::map<const char*, size_t> memory_;
  std::map<int64_t, Stream> streams_;
  int64_t next_stream_ = 100;
  size_t events_ = 0;
  std::string trouble_;
  int ignore_wait_ = 0;
  int waits_ = 0;
};

inline char* LateDevice::look(const void* data, uint64_t offset) {
  const auto base = reinterpret_cast<uintptr_t>(data) - ((flags_ & kHandles) != 0 ? 1 : kShift);
  return reinterpret_cast<char*>(base + offset);
}

inline const char* LateDevice::allocation_of(const char* real) {
  auto found = memory_.upper_bound(real);
  if (found == memory_.begin() || real >= (--found)->first + found->second) {
    trouble_ += "work on memory that is not allocated; ";
    return nullptr;
  }
  return found->first;
}

inline void LateDevice::add(int64_t stream, std::vector<const char*> uses,
                            std::function<void()> job) {
  if ((flags_ & kStreams) == 0) return job();
  streams_[stream].jobs.push_back({std::move(job), std::move(uses)});
}

inline void LateDevice::run_until(int64_t stream, uint64_t position) {
  Stream& queue = streams_[stream];
  while (queue.done < position && !queue.jobs.empty()) {
    const Job job = queue.jobs.front();
    queue.jobs.pop_front();
    job.run();
    ++queue.done;
  }
}

inline void LateDevice::finish() {
  for (auto& [number, stream] : streams_) run_until(number, stream.done + stream.jobs.size());
}

inline size_t LateDevice::pending() const {
  size_t count = 0;
  for (const auto& entry : streams_) count += entry.second.jobs.size();
  return count;
}

inline int LateDevice::copy_strided(const DLTensor& dst, const DLTensor& src, int64_t stream) {
  struct Side {
    char* start;
    std::vector<int64_t> steps;
  };
  const int64_t item = dst.dtype.bits / 8;
  const auto side = [&](const DLTensor& tensor) {
    Side out{look(tensor.data, tensor.byte_offset), {}};
    for (int32_t k = 0; k < tensor.ndim; ++k) out.steps.push_back(tensor.strides[k] * item);
    return out;
  };
  const Side to = side(dst);
  const Side from = side(src);
  const std::vector<int64_t> shape(dst.shape, dst.shape + dst.ndim);
  add(stream, {allocation_of(to.start), allocation_of(from.start)}, [=] {
    std::vector<int64_t> index(shape.size(), 0);
    for (;;) {
      char* d = to.start;
      const char* s = from.start;
      for (size_t k = 0; k < shape.size(); ++k) {
        d += index[k] * to.steps[k];
        s += index[k] * from.steps[k];
      }
      std::memcpy(d, s, static_cast<size_t>(item));
      size_t k = shape.size();
      while (k > 0 && ++index[k - 1] == shape[k - 1]) index[--k] = 0;
      if (k == 0) return;
    }
  });
  return 0;
}

inline dlx_backend LateDevice::functions() {
  dlx_backend f{};
  f.struct_size = sizeof f;
  f.user_data = this;
  f.device_count = [](void*) -> int32_t { return 2; };
  f.allocate = [](int32_t, size_t size, size_t alignment, void* user) -> void* {
    LateDevice& device = self(user);
    void* real = nullptr;
    if (posix_memalign(&real, alignment < 16 ? 16 : alignment, size) != 0) return nullptr;
    device.memory_[static_cast<char*>(real)] = size;
    const uintptr_t shift = (device.flags_ & kHandles) != 0 ? 1 : kShift;
    return reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(real) + shift);
  };
  f.deallocate = [](int32_t, void* data, void* user) {
    LateDevice& device = self(user);
    char* real = device.look(data, 0);
    if (device.memory_.erase(real) != 1) device.trouble_ += "unknown memory is freed; ";
    for (const auto& entry : device.streams_) {
      for (const Job& job : entry.second.jobs) {
        for (const char* used : job.uses) {
          if (used == real) device.trouble_ += "memory is freed while work on it is pending; ";
        }
      }
    }
    std::free(real);
  };
  f.copy_from_host = [](int32_t, void* dst, uint64_t offset, const void* src, size_t size,
                        int64_t stream, void* user) -> int32_t {
    LateDevice& device = self(user);
    char* to = device.look(dst, offset);
    device.add(stream, {device.allocation_of(to)}, [=] { std::memcpy(to, src, size); });
    return 0;
  };
  f.copy_to_host = [](int32_t, void* dst, const void* src, uint64_t offset, size_t size,
                      int64_t stream, void* user) -> int32_t {
    LateDevice& device = self(user);
    const char* from = device.look(src, offset);
    device.add(stream, {device.allocation_of(from)}, [=] { std::memcpy(dst, from, size); });
    return 0;
  };
  f.copy_on_device = [](int32_t, void* dst, uint64_t dst_offset, int32_t, const void* src,
                        uint64_t src_offset, size_t size, int64_t stream, void* user) -> int32_t {
    LateDevice& device = self(user);
    char* to = device.look(dst, dst_offset);
    const char* from = device.look(src, src_offset);
    device.add(stream, {device.allocation_of(to), device.allocation_of(from)},
               [=] { std::memmove(to, from, size); });
    return 0;
  };
  f.synchronize = [](int32_t, void* user) -> int32_t {
    self(user).finish();
    return 0;
  };
  if ((flags_ & kKernels) != 0) {
    f.copy_strided = [](int32_t, const DLTensor* dst, const DLTensor* src, int64_t stream,
                        void* user) -> int32_t {
      return self(user).copy_strided(*dst, *src, stream);
    };
  }
  if ((flags_ & kStreams) == 0) return f;
  f.default_stream = 1;
  f.stream_create = [](int32_t, int64_t* out, void* user) -> int32_t {
    *out = self(user).next_stream_++;
    return 0;
  };
  f.stream_destroy = [](int32_t, int64_t stream, void* user) {
    LateDevice& device = self(user);
    device.run_until(stream, UINT64_MAX);
  };
  f.stream_synchronize = [](int32_t, int64_t stream, void* user) -> int32_t {
    self(user).run_until(stream, UINT64_MAX);
    return 0;
  };
  f.event_record = [](int32_t, int64_t stream, void** out, void* user) -> int32_t {
    LateDevice& device = self(user);
    const Stream& queue = device.streams_[stream];
    *out = new Event{stream, queue.done + queue.jobs.size()};
    ++device.events_;
    return 0;
  };
  f.event_wait = [](int32_t, int64_t stream, void* event, void* user) -> int32_t {
    LateDevice& device = self(user);
    if (++device.waits_ == device.ignore_wait_) return 0;
    const Event copy = *static_cast<Event*>(event);
    device.add(stream, {}, [&device, copy] { device.run_until(copy.stream, copy.position); });
    return 0;
  };
  f.event_wait_on_host = [](int32_t, void* event, void* user) -> int32_t {
    const Event copy = *static_cast<Event*>(event);
    self(user).run_until(copy.stream, copy.position);
    return 0;
  };
  f.event_query = [](int32_t, void* event, int32_t* done, void* user) -> int32_t {
    const Event copy = *static_cast<Event*>(event);
    *done = self(user).streams_[copy.stream].done >= copy.position ? 1 : 0;
    return 0;
  };
  f.event_release = [](int32_t, void* event, void* user) {
    --self(user).events_;
    delete static_cast<Event*>(event);
  };
  return f;
}

}  // namespace dlx_test

#endif  // DLX_TESTS_SRC_TENSOR_LATE_DEVICE_H_
