#ifndef DLX_SRC_DEVICE_SITE_H_
#define DLX_SRC_DEVICE_SITE_H_

#include "src/copy/plan/plan.h"
#include "src/device/backend.h"
#include "src/device/staging.h"

namespace dlx {

/// The device and the stream of one operation, with copies that follow a CopyPlan.
///
/// Plans hold addresses. If a tensor's data is a handle (OpenCL), its plan is made as if the buffer
/// began at the address kHandleBase, and the handle is passed separately; otherwise `handle` is
/// NULL.
struct Site {
  static constexpr int64_t kHandleBase = int64_t{1} << 32;

  Backend* backend;
  int32_t type;
  int32_t id;
  StreamHandle stream;

  /// Converts an address of a plan into the form of the backend.
  static DeviceAddress at(void* handle, const char* place) noexcept;

  /// Copies within this device; through the host if it has no kernels.
  void copy(void* dst_handle, void* src_handle, const CopyPlan& plan) const;
  /// False: the device has no kernels, and nothing was copied.
  bool copy_by_kernels(void* dst_handle, void* src_handle, const CopyPlan& plan) const;
  /// Records an event after the work so far; the buffer is reused after the event.
  void end_use(StagingBuffer* buffer) const;

  // For devices without kernels: whole spans are transferred, and the host waits for them and picks
  // or inserts the items.
  void download_spans(void* src_handle, const CopyPlan& plan) const;
  void upload_spans(void* dst_handle, const CopyPlan& plan) const;
};

/// Device memory for one operation, freed in the order of the stream.
class Temporary {
 public:
  /// Throws Error(OUT_OF_MEMORY).
  Temporary(const Site& site, int64_t bytes);
  ~Temporary();
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;

  void* handle() const noexcept { return handle_; }
  /// The address of its first byte for a plan.
  char* place() const noexcept { return place_; }

 private:
  const Site& site_;
  void* data_;
  void* handle_;
  char* place_;
};

/// Whether one side of the plan is a single run, in the order of the axes.
bool dst_is_run(const CopyPlan& plan) noexcept;
bool src_is_run(const CopyPlan& plan) noexcept;

/// Splits a plan into parts of at most `limit` bytes, in compact order, and calls f(part, bytes)
/// for each.
template <typename F>
void for_each_chunk(const CopyPlan& plan, int64_t limit, F&& f) {
  int inner_axes = plan.ndim();  // axes from this one on are not split
  int64_t inner = plan.item();
  while (inner_axes > 0 && inner <= limit / plan.axis(inner_axes - 1).extent) {
    inner *= plan.axis(--inner_axes).extent;
  }
  int64_t first[CopyPlan::kMaxAxes + 1] = {};
  int64_t extent[CopyPlan::kMaxAxes + 1] = {};
  for (int k = 0; k < plan.ndim(); ++k) extent[k] = k < inner_axes ? 1 : plan.axis(k).extent;
  const int split = inner_axes - 1;  // the axis that is split into blocks; -1: none
  const int64_t block = inner > limit ? 1 : limit / inner;
  for (;;) {
    if (split >= 0) {
      const int64_t rest = plan.axis(split).extent - first[split];
      extent[split] = rest < block ? rest : block;
    }
    const CopyPlan part = plan.box(first, extent);
    for (int64_t at = 0; at < part.item(); at += limit) {
      if (part.ndim() > 0 || part.item() <= limit) {
        f(part, part.size());
        break;
      }
      const int64_t rest = part.item() - at;
      const int64_t bytes = rest < limit ? rest : limit;
      f(part.part_of_item(at, bytes), bytes);
    }
    int k = split;
    for (; k >= 0; --k) {
      first[k] += extent[k];
      if (first[k] < plan.axis(k).extent) break;
      first[k] = 0;
    }
    if (k < 0) return;
  }
}

}  // namespace dlx

#endif  // DLX_SRC_DEVICE_SITE_H_
