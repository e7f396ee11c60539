#include "src/device/site.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <new>

#include "src/base/error.h"
#include "src/copy/copy.h"
#include "src/device/registry.h"

namespace dlx {
namespace {

/// The memory range of one side of a plan.
struct Span {
  int64_t below = 0;  ///< bytes between the lowest byte and the first item
  int64_t bytes = 0;
};

template <typename Step>
Span span_of(const CopyPlan& plan, Step&& step) noexcept {
  Span span;
  span.bytes = plan.item();
  for (int k = 0; k < plan.ndim(); ++k) {
    const int64_t reach = step(plan.axis(k)) * (plan.axis(k).extent - 1);
    span.bytes += reach < 0 ? -reach : reach;
    span.below += reach < 0 ? -reach : 0;
  }
  return span;
}

int64_t dst_step(const CopyAxis& axis) noexcept { return axis.dst; }
int64_t src_step(const CopyAxis& axis) noexcept { return axis.src; }

/// Halves the plan on the axis with the widest span, and runs both parts.
template <typename Step, typename Run>
void halve(const CopyPlan& plan, Step&& step, Run&& run) {
  int widest = 0;
  int64_t most = -1;
  for (int k = 0; k < plan.ndim(); ++k) {
    const int64_t reach = step(plan.axis(k)) * (plan.axis(k).extent - 1);
    const int64_t size = reach < 0 ? -reach : reach;
    if (size > most) {
      most = size;
      widest = k;
    }
  }
  const int64_t extent = plan.axis(widest).extent;
  run(plan.part(widest, 0, extent / 2));
  run(plan.part(widest, extent / 2, extent - extent / 2));
}

bool is_run(const CopyPlan& plan, int64_t (*step)(const CopyAxis&)) noexcept {
  int64_t compact = plan.item();
  for (int k = plan.ndim() - 1; k >= 0; --k) {
    if (step(plan.axis(k)) != compact) return false;
    compact *= plan.axis(k).extent;
  }
  return true;
}

int64_t address_of(const char* place) noexcept { return reinterpret_cast<intptr_t>(place); }

}  // namespace

bool dst_is_run(const CopyPlan& plan) noexcept { return is_run(plan, dst_step); }
bool src_is_run(const CopyPlan& plan) noexcept { return is_run(plan, src_step); }

Chunks::Chunks(const CopyPlan& plan, int64_t limit) noexcept : plan_(plan), limit_(limit) {
  int inner_axes = plan.ndim();  // axes from this one on are not split
  inner_ = plan.item();
  while (inner_axes > 0 && inner_ <= limit / plan.axis(inner_axes - 1).extent) {
    inner_ *= plan.axis(--inner_axes).extent;
  }
  for (int k = 0; k < plan.ndim(); ++k) extent_[k] = k < inner_axes ? 1 : plan.axis(k).extent;
  split_ = inner_axes - 1;
}

bool Chunks::next(CopyPlan* part, int64_t most) noexcept {
  if (done_) return false;
  most = std::min(most, limit_);
  const int64_t block = at_ > 0 ? 1 : std::max<int64_t>(most / inner_, 1);
  if (split_ >= 0) extent_[split_] = std::min(block, plan_.axis(split_).extent - first_[split_]);
  *part = plan_.box(first_, extent_);
  if (part->ndim() == 0 && (at_ > 0 || part->item() > most)) {
    const int64_t item = part->item(), bytes = std::min(most, item - at_);
    *part = part->part_of_item(at_, bytes);
    at_ += bytes;
    if (at_ < item) return true;
    at_ = 0;
  }
  int k = split_;
  for (; k >= 0; --k) {
    first_[k] += extent_[k];
    if (first_[k] < plan_.axis(k).extent) break;
    first_[k] = 0;
  }
  done_ = k < 0;
  return true;
}

DeviceAddress Site::at(void* handle, const char* place) noexcept {
  if (handle != nullptr) return {handle, static_cast<uint64_t>(address_of(place) - kHandleBase)};
  return {reinterpret_cast<void*>(address_of(place)), 0};
}

void Site::end_use(StagingBuffer* buffer) const {
  buffer->in_use_until(backend->record(id, stream));
}

bool Site::copy_by_kernels(void* dst_handle, void* src_handle, const CopyPlan& plan) const {
  if (dst_is_run(plan) && src_is_run(plan)) {
    backend->copy_on_device(id, at(dst_handle, plan.dst()), id, at(src_handle, plan.src()), stream,
                            static_cast<size_t>(plan.size()));
    return true;
  }
  // On one device both are handles or none.
  const int64_t move = dst_handle == nullptr ? 0 : -kHandleBase;
  return backend->copy_strided(id, stream, {dst_handle, 0}, {src_handle, 0},
                               plan.moved(move, move));
}

void Site::copy(void* dst_handle, void* src_handle, const CopyPlan& plan) const {
  if (copy_by_kernels(dst_handle, src_handle, plan)) return;
  if (backend->capture(id, stream).capturing) {
    fail(DLX_ERROR_UNSUPPORTED,
         "`stream` is being captured into a graph, and no kernel for strided copies is loaded on "
         "%s: "
         "make one strided copy there before the capture begins",
         device_text(type, id).text);
  }
  for_each_chunk(plan, StagingBuffer::kBlocks.bytes, [&](const CopyPlan& part, int64_t bytes) {
    const std::unique_ptr<char, void (*)(void*)> buffer(
        static_cast<char*>(std::malloc(static_cast<size_t>(bytes))), std::free);
    // not covered: memory has run out
    if (buffer == nullptr) throw std::bad_alloc();
    download_spans(src_handle, part.to_compact(buffer.get()));
    upload_spans(dst_handle, part.from_compact(buffer.get()));
  });
}

void Site::download_spans(void* src_handle, const CopyPlan& plan) const {
  const Span span = span_of(plan, src_step);
  if (span.bytes > StagingBuffer::kBlocks.bytes) {
    halve(plan, src_step, [&](const CopyPlan& part) { download_spans(src_handle, part); });
    return;
  }
  StagingBuffer buffer(*backend, id, stream);
  backend->copy_to_host(id, stream, buffer.data(), at(src_handle, plan.src() - span.below),
                        static_cast<size_t>(span.bytes));
  end_use(&buffer);
  buffer.wait();
  execute_alone(plan.moved(0, address_of(buffer.data() + span.below) - address_of(plan.src())));
}

void Site::upload_spans(void* dst_handle, const CopyPlan& plan) const {
  const Span span = span_of(plan, dst_step);
  if (span.bytes > StagingBuffer::kBlocks.bytes) {
    halve(plan, dst_step, [&](const CopyPlan& part) { upload_spans(dst_handle, part); });
    return;
  }
  const auto bytes = static_cast<size_t>(span.bytes);
  StagingBuffer buffer(*backend, id, stream);
  const DeviceAddress to = at(dst_handle, plan.dst());
  if (plan.ndim() > 0) {  // the bytes between the items must keep their values
    backend->copy_to_host(id, stream, buffer.data(), to, bytes);
    wait_for_stream(*backend, id, stream);
  }
  execute_alone(plan.moved(address_of(buffer.data()) - address_of(plan.dst()), 0));
  backend->copy_from_host(id, stream, to, buffer.data(), bytes);
  end_use(&buffer);
}

Temporary::Temporary(const Site& site, int64_t bytes)
    : site_(site),
      data_(site.backend->allocate_temporary(site.id, site.stream, static_cast<size_t>(bytes))) {
  if (data_ == nullptr) {
    fail(DLX_ERROR_OUT_OF_MEMORY, "cannot allocate a temporary of %lld bytes on %s",
         static_cast<long long>(bytes), device_text(site.type, site.id).text);
  }
  const bool is_address = data_is_address(site.type);
  handle_ = is_address ? nullptr : data_;
  place_ = is_address ? static_cast<char*>(data_) : reinterpret_cast<char*>(Site::kHandleBase);
}

Temporary::~Temporary() { site_.backend->deallocate_temporary(site_.id, site_.stream, data_); }

}  // namespace dlx
