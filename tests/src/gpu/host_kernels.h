// The kernels as C++ on the host: a work item is a fiber, and each access to global and to local memory is
// checked and counted.
#ifndef DLX_TESTS_SRC_GPU_HOST_KERNELS_H_
#define DLX_TESTS_SRC_GPU_HOST_KERNELS_H_

#include <ucontext.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

#include "src/gpu/kernels.h"
#include "src/gpu/launch.h"

namespace dlx_test {

/// What the launches of a copy did.
struct Traffic {
  int64_t launches = 0, groups = 0;
  int64_t loaded = 0, stored = 0;       ///< bytes
  int64_t accesses = 0;                 ///< loads and stores of global memory, of a warp
  int64_t src_sectors = 0;              ///< of 32 bytes, counted once for each group
  int64_t dst_sectors = 0;              ///< distinct ones
  int64_t shared_dst_sectors = 0;       ///< written by two groups
  int64_t local = 0, local_cycles = 0;  ///< accesses to local memory of a warp, and what they take
};

class HostDevice {
 public:
  /// The buffers that kernels may access, in words that have a byte of them.
  HostDevice(char* dst, int64_t dst_size, const char* src, int64_t src_size)
      : dst_(dst),
        src_(src),
        dst_size_(dst_size),
        src_size_(src_size),
        writer_(static_cast<size_t>(dst_size / 32 + 3), -1),
        reader_(static_cast<size_t>(src_size / 32 + 3), -1) {}

  void run(const dlx::gpu::Launch& launch);
  const Traffic& traffic() const { return traffic_; }

  // What the kernels call, through the macros below.
  static uint32_t group() { return current->group_; }
  static uint32_t item() { return current->item_; }
  static void barrier() { swapcontext(&current->fibers_[current->item_], &current->scheduler_); }
  template <typename T>
  static T load(const char* address, int site) {
    current->touch(address, sizeof(T), current->src_, current->src_size_, "load");
    current->note_load(address, sizeof(T), site);
    T value;
    std::memcpy(&value, address, sizeof value);
    return value;
  }
  template <typename T>
  static void store(char* address, T value, int site) {
    if (address < current->dst_ || address + sizeof value > current->dst_ + current->dst_size_) {
      throw std::runtime_error("a kernel stores outside of dst");
    }
    current->aligned(address, sizeof value);
    current->note_store(address, sizeof value, site);
    std::memcpy(address, &value, sizeof value);
  }
  template <typename T, typename Array>
  static T& local(Array& array, int64_t index, int site, bool writes) {
    const int64_t at = index * static_cast<int64_t>(sizeof(T));
    if (at < 0 || at + static_cast<int64_t>(sizeof(T)) > static_cast<int64_t>(sizeof array)) {
      throw std::runtime_error("a kernel is outside of local memory at " + std::to_string(index));
    }
    current->note_local(at, sizeof(T), site);
    current->note_order(reinterpret_cast<char*>(&array) + at, sizeof(T), writes);
    return reinterpret_cast<T*>(&array)[index];
  }

 private:
  static constexpr uint32_t kMostItems = 256;
  static constexpr size_t kStack = 48 * 1024;

  /// An instruction of a warp: its warp, place in the source, and how often it ran before.
  struct Instruction {
    uint32_t warp;
    int site, turn;
    bool operator<(const Instruction& other) const {
      if (warp != other.warp) return warp < other.warp;
      return site != other.site ? site < other.site : turn < other.turn;
    }
  };
  struct Access {
    size_t size;
    std::vector<std::pair<uint32_t, int64_t>> lanes;
  };

  static constexpr int kSeveral = -2;
  struct LocalByte {
    int64_t phase = -1;
    int writer = -1, reader = -1;  ///< an item, or -1; `reader` may be kSeveral
  };

  /// Makes the fiber of a work item, at the kernel's beginning.
  void begin_item(uint32_t k);
  static void enter() {
    try {
      current->kernel_(current->dst_, current->src_, *current->copy_);
    } catch (const std::exception& error) {  // must not leave the fiber
      current->trouble_ = error.what();
    }
    current->done_[current->item_] = true;
    swapcontext(&current->fibers_[current->item_], &current->scheduler_);
  }

  Instruction next(int site) { return {item_ / 32, site, turns_[item_][site]++}; }

  void aligned(const char* address, size_t size) {
    if (reinterpret_cast<uintptr_t>(address) % size != 0) {
      throw std::runtime_error("an access of " + std::to_string(size) + " bytes is not aligned");
    }
  }

  void touch(const char* address, size_t size, const char* base, int64_t length, const char* what) {
    aligned(address, size);
    const auto end = static_cast<int64_t>(size);
    if (address + end <= base || address >= base + length ||
        (end > 4 && (address < base || address + end > base + length + 3))) {
      throw std::runtime_error(std::string("a kernel's ") + what + " is outside of its operand");
    }
  }

  static int64_t sector(const char* address, const char* base) {
    return static_cast<int64_t>(reinterpret_cast<uintptr_t>(address) / 32) -
           static_cast<int64_t>(reinterpret_cast<uintptr_t>(base) / 32) + 1;
  }

  void note_load(const char* address, size_t size, int site) {
    traffic_.loaded += static_cast<int64_t>(size);
    int& reader = reader_.at(static_cast<size_t>(sector(address, src_)));
    if (reader != serial_) ++traffic_.src_sectors;
    reader = serial_;
    if (global_.insert(next(site)).second) ++traffic_.accesses;
  }

  void note_store(const char* address, size_t size, int site) {
    traffic_.stored += static_cast<int64_t>(size);
    int& writer = writer_.at(static_cast<size_t>(sector(address, dst_)));
    if (writer < 0) ++traffic_.dst_sectors;
    if (writer >= 0 && writer != serial_) ++traffic_.shared_dst_sectors;
    writer = serial_;
    if (global_.insert(next(site)).second) ++traffic_.accesses;
  }

  void note_local(int64_t at, size_t size, int site) {
    Access& access = local_[next(site)];
    access.size = size;
    access.lanes.emplace_back(item_ % 32, at);
  }

  /// Between two barriers, a byte of local memory that one item writes is no other item's: a GPU runs
  /// items in any order.
  void note_order(const char* at, size_t size, bool writes) {
    const int item = static_cast<int>(item_);
    for (size_t k = 0; k < size; ++k) {
      LocalByte& byte = local_bytes_[at + k];
      if (byte.phase != phase_) byte = {phase_, -1, -1};
      const bool read_by_another = byte.reader != -1 && byte.reader != item;
      const bool written_by_another = byte.writer != -1 && byte.writer != item;
      if (written_by_another || (writes && read_by_another)) {
        throw std::runtime_error("two items use a byte of local memory without a barrier between");
      }
      if (writes) {
        byte.writer = item;
      } else {
        byte.reader = byte.reader == -1 || byte.reader == item ? item : kSeveral;
      }
    }
  }

  /// A warp's access to local memory takes as many cycles as the most distinct words in one of 32 banks;
  /// longer words go in halves or quarters of the warp.
  void count_banks() {
    for (const auto& each : local_) {
      const uint32_t parts = each.second.size > 4 ? static_cast<uint32_t>(each.second.size / 4) : 1;
      for (uint32_t part = 0; part < parts; ++part) {
        std::map<int64_t, std::set<int64_t>> banks;
        for (const auto& lane : each.second.lanes) {
          if (lane.first * parts / 32 != part) continue;
          for (uint32_t w = 0; w < parts; ++w) {
            const int64_t word = lane.second / 4 + w;
            banks[word % 32].insert(word);
          }
        }
        size_t most = 0;
        for (const auto& bank : banks) most = std::max(most, bank.second.size());
        if (most == 0) continue;
        ++traffic_.local;
        traffic_.local_cycles += static_cast<int64_t>(most);
      }
    }
  }

  using Function = void (*)(char*, const char*, dlx_strided_copy);
  static Function function_of(int32_t kernel);
  inline static HostDevice* current = nullptr;

  char* dst_;
  const char* src_;
  int64_t dst_size_, src_size_;
  std::vector<int> writer_, reader_;
  Traffic traffic_;
  int serial_ = -1;  // of the group, through all launches

  Function kernel_ = nullptr;
  const dlx_strided_copy* copy_ = nullptr;
  uint32_t group_ = 0, item_ = 0;
  std::vector<std::map<int, int>> turns_{kMostItems};
  std::set<Instruction> global_;
  std::map<Instruction, Access> local_;
  std::unordered_map<const char*, LocalByte> local_bytes_;
  int64_t phase_ = 0;  // of a group, from one barrier to the next
  std::vector<ucontext_t> fibers_{kMostItems};
  std::vector<bool> done_;
  std::vector<char> stacks_ = std::vector<char>(kMostItems * kStack);
  ucontext_t scheduler_;
  std::string trouble_;
};

inline void HostDevice::begin_item(uint32_t k) {
  turns_[k].clear();
  getcontext(&fibers_[k]);
  fibers_[k].uc_stack.ss_sp = &stacks_[k * kStack];
  fibers_[k].uc_stack.ss_size = kStack;
  fibers_[k].uc_link = nullptr;
  makecontext(&fibers_[k], &HostDevice::enter, 0);
}

inline void HostDevice::run(const dlx::gpu::Launch& launch) {
  current = this;
  kernel_ = function_of(launch.kernel);
  copy_ = &launch.copy;
  ++traffic_.launches;
  traffic_.groups += launch.groups[0];
  const uint32_t items = launch.group_size[0];
  for (group_ = 0; group_ < launch.groups[0]; ++group_) {
    ++serial_;
    done_.assign(items, false);
    for (uint32_t k = 0; k < items; ++k) begin_item(k);
    for (bool more = true; more;) {  // from one barrier to the next
      more = false;
      ++phase_;
      for (item_ = 0; item_ < items; ++item_) {
        if (!done_[item_]) swapcontext(&scheduler_, &fibers_[item_]);
        if (!done_[item_]) more = true;
      }
      if (!trouble_.empty()) throw std::runtime_error(trouble_);
    }
    count_banks();
    global_.clear();
    local_.clear();
  }
}

}  // namespace dlx_test

#define DLX_ON_HOST
#define KERNEL static
#define INLINE [[maybe_unused]] static inline
#define GLOBAL
#define LOCAL
#define LOCAL_ARRAY static
typedef uint64_t dlx_uint64;
struct dlx_uint128 {
  uint32_t x, y, z, w;
};
typedef const dlx_strided_copy* dlx_what;
#define WHAT(argument) (&(argument))
#define GROUP_ID() dlx_test::HostDevice::group()
#define LOCAL_ID() dlx_test::HostDevice::item()
#define BARRIER() dlx_test::HostDevice::barrier()
#define LOAD(type, address) dlx_test::HostDevice::load<type>(address, __COUNTER__)
#define STORE(type, address, value) dlx_test::HostDevice::store<type>(address, value, __COUNTER__)
#define GET(type, array, index) dlx_test::HostDevice::local<type>(array, index, __COUNTER__, false)
#define PUT(type, array, index, value) \
  (dlx_test::HostDevice::local<type>(array, index, __COUNTER__, true) = (value))

// Kernels ask for unrolled loops whose steps are known to compilers for GPUs only.
#pragma GCC diagnostic push
#ifdef __clang__
#pragma GCC diagnostic ignored "-Wpass-failed"
#endif
#include "kernel_sources.inc"
#pragma GCC diagnostic pop

#undef KERNEL
inline dlx_test::HostDevice::Function dlx_test::HostDevice::function_of(int32_t kernel) {
  static const Function functions[] = {
#define KERNEL(family, number, name) &dlx_##name,
#include "src/gpu/kernels.inc"
#undef KERNEL
  };
  return functions[kernel];
}

#endif  // DLX_TESTS_SRC_GPU_HOST_KERNELS_H_
