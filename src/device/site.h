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
  // or inserts the items, none of which is longer than a block.
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

/// The parts of a plan of at most `limit` bytes each, in compact order.
class Chunks {
 public:
  Chunks(const CopyPlan& plan, int64_t limit) noexcept;
  /// False after the last part. It has at most `most` bytes, or else one index of the axis that is split.
  bool next(CopyPlan* part, int64_t most = INT64_MAX) noexcept;

 private:
  const CopyPlan& plan_;
  const int64_t limit_;
  int split_;      // the axis that is split into blocks; -1: none
  int64_t inner_;  // bytes of an index of that axis
  int64_t first_[CopyPlan::kMaxAxes + 1] = {};
  int64_t extent_[CopyPlan::kMaxAxes + 1] = {};
  int64_t at_ = 0;  // in an item of which a part went before
  bool done_ = false;
};

/// Calls f(part, bytes) for each of a plan's Chunks.
template <typename F>
void for_each_chunk(const CopyPlan& plan, int64_t limit, F&& f) {
  Chunks chunks(plan, limit);
  CopyPlan part = plan;
  while (chunks.next(&part)) f(part, part.size());
}

}  // namespace dlx

#endif  // DLX_SRC_DEVICE_SITE_H_
