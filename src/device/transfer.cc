#include "src/device/transfer.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <new>

#include "src/base/cancellation.h"
#include "src/base/error.h"
#include "src/base/memory.h"
#include "src/copy/copy.h"
#include "src/copy/plan/overlap.h"
#include "src/copy/threads/threads.h"
#include "src/device/current_stream.h"
#include "src/device/registry.h"
#include "src/device/site.h"

namespace dlx {
namespace {

/// The handle of the data; NULL if the data is an address.
void* handle_of(const Operand& operand) noexcept {
  return data_is_address(type_of(operand.tensor->device)) ? nullptr : operand.tensor->data;
}

/// The description for a plan, whose data is always an address: see Site.
DLTensor placed(const Operand& operand) noexcept {
  DLTensor tensor = *operand.tensor;
  if (handle_of(operand) != nullptr) tensor.data = reinterpret_cast<void*>(Site::kHandleBase);
  return tensor;
}

Site site_of(const Operand& operand, const int64_t* stream) {
  const int32_t type = type_of(operand.tensor->device);
  Backend& backend = require_device(type, operand.tensor->device.device_id);
  const Worker worker = find_worker(*operand.tensor);
  const int32_t id = worker.backend == nullptr ? operand.tensor->device.device_id : worker.id;
  if (stream != nullptr) return {&backend, type, id, *stream};
  return {&backend, type, id, current_stream(backend, type, id)};
}

/// Makes the site's stream wait until the operand's data is ready. `home` is the operand's own
/// device; for pinned memory it may differ from the site's.
Readiness::Note begin_use(const Operand& operand, const Site& site, int32_t home) {
  if (operand.readiness == nullptr) return 0;
  return operand.readiness->begin_use(*site.backend, home, site.id, site.stream);
}

Readiness::Note begin_use(const Operand& operand, const Site& site) {
  return begin_use(operand, site, site.id);
}

/// The results of begin_use() for both operands.
struct Notes {
  Readiness::Note dst, src;
};

/// begin_use() for both operands on one stream. If both wait for the default stream, one wait is
/// enough.
Notes begin_use_of_both(const Operand& dst, const Operand& src, const Site& site) {
  const bool together = dst.readiness != nullptr && src.readiness != nullptr &&
                        dst.readiness->is_behind_default() && src.readiness->is_behind_default();
  const Readiness::Note seen = begin_use(dst, site);
  return {seen, together ? seen : begin_use(src, site)};
}

/// Records that the work submitted to the site's stream so far uses the operand.
void end_use(const Operand& operand, const Site& site, int32_t home, Readiness::Note seen) {
  if (operand.readiness == nullptr) return;
  operand.readiness->end_use(*site.backend, home, site.id, site.stream, seen);
}

/// Waits on the host until no device reads or writes the host memory.
void wait_for_devices(const Operand& host) {
  const Worker worker = find_worker(*host.tensor);
  if (worker.backend == nullptr) return;
  Readiness behind_default;  // memory without a storage waits for the default stream
  Readiness& readiness = host.readiness == nullptr ? behind_default : *host.readiness;
  readiness.wait_on_host(*worker.backend, worker.id);
}

/// Whether the site's device can access the host memory directly, in the order of its stream.
bool is_pinned(const Operand& host, const Site& site) noexcept {
  return type_of(host.tensor->device) != kDLCPU &&
         find_backend(type_of(host.tensor->device)) == site.backend;
}

[[noreturn]] void fail_captured() {
  fail(
      DLX_ERROR_UNSUPPORTED,
      "`stream` is being captured into a graph, and dlx cannot record a copy between devices, "
      "through host memory or through a temporary: copy before the capture begins, or use torch or "
      "CuPy inside it");
}

void require_no_capture(const Site& site) {
  if (site.backend->capture(site.id, site.stream).capturing) fail_captured();
}

// ---- parts of a copy ---------------------------------------------------------------------------

/// The parts of a plan, for the threads of a transfer: each packs and sends, or receives and unpacks, parts
/// of its own, and waits for no other, so that transfers follow each other without a pause.
class SharedChunks {
 public:
  SharedChunks(const Site& site, const CopyPlan& plan)
      : parts_(plan.size(), site.backend->is_shared(site.stream) ? usable_threads() : 1),
        chunks_(plan, parts_.blocks().bytes) {}

  /// Calls run(next), where next(&part) is false after the last part, on each of the threads; then throws
  /// what one of them threw, after which there were no more parts.
  template <typename Run>
  void each_thread(Run&& run) {
    const auto next = [&](CopyPlan* part) {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (failure_ != nullptr || !chunks_.next(part, parts_.next())) return false;
      parts_.take(part->size());
      return true;
    };
    auto guarded = [&] {
      try {
        run(next);
      } catch (...) {
        const std::lock_guard<std::mutex> lock(mutex_);
        failure_ = std::current_exception();
      }
    };
    if (parts_.threads() == 1) return run(next);
    const WithoutCancellation whole;
    parallel_for(
        parts_.threads(), [](void* call, int64_t) { (*static_cast<decltype(guarded)*>(call))(); },
        &guarded, parts_.threads());
    if (failure_ != nullptr) std::rethrow_exception(failure_);
  }

  /// The blocks of pinned memory that the transfer may have.
  const StagingBlocks& blocks() const noexcept { return parts_.blocks(); }

  /// On the calling thread, or on all threads if the transfer has only this one.
  void execute_part(const CopyPlan& part) const noexcept {
    parts_.threads() > 1 ? execute_alone(part) : execute(part);
  }

 private:
  std::mutex mutex_;
  TransferParts parts_;
  Chunks chunks_;
  std::exception_ptr failure_;
};

void upload(const Site& site, void* dst_handle, const CopyPlan& plan) {
  // Without kernels, what lies between a part's items is read and written back: items of other parts too.
  std::mutex turn;
  const bool apart = dst_is_run(plan);
  const auto alone = [&] {
    return apart ? std::unique_lock<std::mutex>() : std::unique_lock<std::mutex>(turn);
  };
  const auto send_part = [&](const SharedChunks& chunks, const CopyPlan& part) {
    const int64_t bytes = part.size();
    StagingBuffer buffer(*site.backend, site.id, site.stream, chunks.blocks());
    chunks.execute_part(part.to_compact(buffer.data()));
    const auto send = [&](DeviceAddress to) {
      site.backend->copy_from_host(site.id, site.stream, to, buffer.data(),
                                   static_cast<size_t>(bytes));
    };
    if (dst_is_run(part)) {
      const auto lock = alone();
      send(Site::at(dst_handle, part.dst()));
    } else {
      const Temporary packed(site, bytes);
      send(Site::at(packed.handle(), packed.place()));
      const auto lock = alone();
      if (!site.copy_by_kernels(dst_handle, packed.handle(), part.from_compact(packed.place()))) {
        site.upload_spans(dst_handle, part.from_compact(buffer.data()));
      }
    }
    site.end_use(&buffer);
  };
  SharedChunks chunks(site, plan);
  chunks.each_thread([&](const auto& next) {
    CopyPlan part = plan;
    while (next(&part)) send_part(chunks, part);
  });
}

/// A chunk that is being transferred to the host.
struct Arriving {
  Arriving(const Site& site, const SharedChunks& chunks, const CopyPlan& part)
      : buffer(*site.backend, site.id, site.stream, chunks.blocks()), part(part) {}
  void unpack(const SharedChunks& chunks) {
    buffer.wait();
    chunks.execute_part(part.from_compact(buffer.data()));
  }
  StagingBuffer buffer;
  CopyPlan part;
};

void download(const Site& site, void* src_handle, const CopyPlan& plan) {
  /// NULL if the part has arrived already.
  const auto receive_part = [&](const SharedChunks& chunks,
                                const CopyPlan& part) -> std::unique_ptr<Arriving> {
    auto arriving = std::make_unique<Arriving>(site, chunks, part);
    const auto receive = [&](DeviceAddress from) {
      site.backend->copy_to_host(site.id, site.stream, arriving->buffer.data(), from,
                                 static_cast<size_t>(part.size()));
    };
    if (src_is_run(part)) {
      receive(Site::at(src_handle, part.src()));
    } else {
      const Temporary packed(site, part.size());
      if (!site.copy_by_kernels(packed.handle(), src_handle, part.to_compact(packed.place()))) {
        site.download_spans(src_handle, part);
        return nullptr;
      }
      receive(Site::at(packed.handle(), packed.place()));
    }
    site.end_use(&arriving->buffer);
    return arriving;
  };
  SharedChunks chunks(site, plan);
  chunks.each_thread([&](const auto& next) {
    std::unique_ptr<Arriving> previous;
    CopyPlan part = plan;
    while (next(&part)) {
      std::unique_ptr<Arriving> arriving = receive_part(chunks, part);
      if (arriving == nullptr) continue;
      if (previous != nullptr) previous->unpack(chunks);
      previous = std::move(arriving);
    }
    if (previous != nullptr) previous->unpack(chunks);
  });
}

/// Within one device. Overlapping operands go through a temporary.
void copy_within(const Site& site, const Operand& dst, const Operand& src, const CopyPlan& plan) {
  void* const dst_handle = handle_of(dst);
  void* const src_handle = handle_of(src);
  const bool same_memory = dst_handle == src_handle;  // both are NULL if data is an address
  if (!same_memory || !operands_overlap(plan, plan.item(), plan.item())) {
    site.copy(dst_handle, src_handle, plan);
    return;
  }
  require_no_capture(site);
  const Temporary packed(site, plan.size());
  site.copy(packed.handle(), src_handle, plan.to_compact(packed.place()));
  site.copy(dst_handle, packed.handle(), plan.from_compact(packed.place()));
}

/// Between two devices of one backend: packed on one, unpacked on the other.
void copy_between(const Site& to, void* dst_handle, const Site& from, void* src_handle,
                  const CopyPlan& plan) {
  constexpr int64_t kChunk = int64_t{128} << 20;
  Backend& backend = *to.backend;
  const auto follow = [&](const Site& later, const Site& earlier) {
    follow_stream(backend, later.id, later.stream, earlier.id, earlier.stream);
  };
  for_each_chunk(plan, kChunk, [&](const CopyPlan& part, int64_t bytes) {
    const auto size = static_cast<size_t>(bytes);
    std::unique_ptr<Temporary> packed;
    std::unique_ptr<Temporary> arrived;
    const WaitOnError wait_for_to(&backend, to.id, to.stream);  // it may be reading `packed`
    DeviceAddress source = Site::at(src_handle, part.src());
    if (!src_is_run(part)) {
      packed = std::make_unique<Temporary>(from, bytes);
      from.copy(packed->handle(), src_handle, part.to_compact(packed->place()));
      source = Site::at(packed->handle(), packed->place());
    }
    follow(to, from);
    DeviceAddress target = Site::at(dst_handle, part.dst());
    if (!dst_is_run(part)) {
      arrived = std::make_unique<Temporary>(to, bytes);
      target = Site::at(arrived->handle(), arrived->place());
    }
    backend.copy_on_device(to.id, target, from.id, source, to.stream, size);
    if (arrived != nullptr) {
      to.copy(dst_handle, arrived->handle(), part.from_compact(arrived->place()));
    }
    if (packed != nullptr) follow(from, to);  // `packed` is freed after it was read
  });
}

/// Between devices of different backends: through the host.
void copy_through_host(const Site& to, void* dst_handle, const Site& from, void* src_handle,
                       const CopyPlan& plan) {
  for_each_chunk(plan, StagingBuffer::kBlocks.bytes, [&](const CopyPlan& part, int64_t bytes) {
    const std::unique_ptr<char, void (*)(void*)> buffer(
        static_cast<char*>(std::malloc(static_cast<size_t>(bytes))), std::free);
    // not covered: memory has run out
    if (buffer == nullptr) throw std::bad_alloc();
    download(from, src_handle, part.to_compact(buffer.get()));
    upload(to, dst_handle, part.from_compact(buffer.get()));
  });
}

// ---- elements that do not fill bytes -----------------------------------------------------------

/// The bytes that contain a tensor's elements, in host memory: a copy if the tensor is on a device.
class HostBytes {
 public:
  HostBytes(const Operand& operand, const Site* site) : operand_(operand), site_(site) {
    tensor_ = *operand.tensor;
    if (site == nullptr) return;
    const int64_t bits = operand.padded ? 8 * tensor_.dtype.lanes
                                        : int64_t{tensor_.dtype.bits} * tensor_.dtype.lanes;
    int64_t low = 0;
    int64_t high = 0;
    int64_t compact = 1;
    for (int32_t k = tensor_.ndim - 1; k >= 0; --k) {
      const int64_t stride = tensor_.strides == nullptr ? compact : tensor_.strides[k];
      compact *= tensor_.shape[k];
      const int64_t reach = stride * (tensor_.shape[k] - 1);
      (reach < 0 ? low : high) += reach;
    }
    // From the first byte of the lowest element to the last byte of the highest.
    first_ = -((-low * bits + 7) / 8);
    size_ = static_cast<size_t>((high * bits + bits + 7) / 8 - first_);
    bytes_.reset(static_cast<char*>(std::malloc(size_)));
    // not covered: the same
    if (bytes_ == nullptr) throw std::bad_alloc();
    site->backend->copy_to_host(site->id, site->stream, bytes_.get(), address(), size_);
    wait();
    tensor_.data = reinterpret_cast<void*>(reinterpret_cast<intptr_t>(bytes_.get()) - first_);
    tensor_.byte_offset = 0;
  }

  const DLTensor& tensor() const noexcept { return tensor_; }

  void write_back() {
    if (site_ == nullptr) return;
    site_->backend->copy_from_host(site_->id, site_->stream, address(), bytes_.get(), size_);
    wait();
  }

 private:
  void wait() {
    try {
      wait_for_stream(*site_->backend, site_->id, site_->stream);
    } catch (...) {
      // The device may still use them: leak them.
      bytes_.release();  // NOLINT(bugprone-unused-return-value)
      throw;
    }
  }

  DeviceAddress address() const noexcept {
    const DLTensor& tensor = *operand_.tensor;
    return {tensor.data, tensor.byte_offset + static_cast<uint64_t>(first_)};
  }

  const Operand& operand_;
  const Site* site_;
  DLTensor tensor_;
  std::unique_ptr<char, Free> bytes_;
  int64_t first_ = 0;
  size_t size_ = 0;
};

/// For packed sub-byte elements: whole bytes are transferred, and the host moves the bits.
void transfer_bits(const Operand& dst, const Site* dst_site, const Operand& src,
                   const Site* src_site) {
  const HostBytes from(src, src_site);
  HostBytes to(dst, dst_site);
  copy_tensor(to.tensor(), dst.padded, from.tensor(), src.padded);
  to.write_back();
}

// ---- between host memory and a device ----------------------------------------------------------

/// The copy is done on return.
void copy_to_host(const Operand& dst, const Site& from, const Operand& src, const CopyPlan& plan) {
  wait_for_devices(dst);
  if (!is_pinned(dst, from) || plan.ndim() > 0) return download(from, handle_of(src), plan);
  from.backend->copy_to_host(from.id, from.stream, plan.dst(), Site::at(handle_of(src), plan.src()),
                             static_cast<size_t>(plan.size()));
  wait_for_stream(*from.backend, from.id, from.stream);
}

/// Returns whether the device may still be reading the source; `seen` is then what it waited for.
bool copy_from_host(const Site& to, const Operand& dst, const Operand& src, const CopyPlan& plan,
                    Readiness::Note* seen) {
  if (!is_pinned(src, to) || plan.ndim() > 0) {
    wait_for_devices(src);
    upload(to, handle_of(dst), plan);
    return false;
  }
  *seen = begin_use(src, to, find_worker(*src.tensor).id);
  to.backend->copy_from_host(to.id, to.stream, Site::at(handle_of(dst), plan.dst()), plan.src(),
                             static_cast<size_t>(plan.size()));
  return true;
}

/// To a device; the source is in host memory if `from` is NULL.
PendingWork copy_to_device(const Site& to, const Operand& dst, const Site* from, const Operand& src,
                           const CopyPlan& plan, Readiness::Note* seen) {
  PendingWork pending{to.backend, to.id, to.stream};
  if (from == nullptr) {
    pending.reads_source = copy_from_host(to, dst, src, plan, seen);
  } else if (to.backend != from->backend) {
    copy_through_host(to, handle_of(dst), *from, handle_of(src), plan);
    pending.reads_source = false;
  } else if (to.id == from->id) {
    copy_within(to, dst, src, plan);
  } else {
    copy_between(to, handle_of(dst), *from, handle_of(src), plan);
  }
  return pending;
}

/// Both operands are in host memory.
void copy_on_host(const Operand& dst, const Operand& src, const int64_t* stream) {
  if (stream != nullptr) check_stream(kDLCPU, *stream);
  wait_for_devices(dst);
  wait_for_devices(src);
  copy_tensor(*dst.tensor, dst.padded, *src.tensor, src.padded);
}

}  // namespace

PendingWork transfer(const Operand& dst, const Operand& src, const int64_t* stream) {
  const bool to_host = cpu_reachable(type_of(dst.tensor->device));
  const bool from_host = cpu_reachable(type_of(src.tensor->device));
  if (to_host && from_host) {
    copy_on_host(dst, src, stream);
    return {};
  }
  const CopyPlan plan = plan_copy(placed(dst), dst.padded, placed(src), src.padded);
  // If both are devices, `stream` belongs to the destination's.
  const Site to = to_host ? Site{} : site_of(dst, stream);
  const Site from = from_host ? Site{} : site_of(src, to_host ? stream : nullptr);
  if (plan.empty()) return {};
  const Site& worker = to_host ? from : to;
  release_some_held(*worker.backend);

  // Always queried: it throws if the default stream must not be touched now.
  const bool captured = worker.backend->capture(worker.id, worker.stream).capturing;
  const bool one_device = !to_host && !from_host && to.backend == from.backend && to.id == from.id;
  if (plan.in_bits() || !one_device) {
    if (captured) fail_captured();
    if (!to_host && !from_host) require_no_capture(from);
  }
  Notes seen{};
  if (one_device) {
    seen = begin_use_of_both(dst, src, to);
  } else {
    if (!to_host) seen.dst = begin_use(dst, to);
    if (!from_host) seen.src = begin_use(src, from);
  }
  const WaitOnError wait_for_to(to.backend, to.id, to.stream);
  const WaitOnError wait_for_from(one_device ? nullptr : from.backend, from.id, from.stream);

  if (plan.in_bits()) {
    if (to_host) wait_for_devices(dst);
    if (from_host) wait_for_devices(src);
    transfer_bits(dst, to_host ? nullptr : &to, src, from_host ? nullptr : &from);
    return {};
  }
  if (to_host) {
    copy_to_host(dst, from, src, plan);
    return {};
  }
  const PendingWork pending =
      copy_to_device(to, dst, from_host ? nullptr : &from, src, plan, &seen.src);
  end_use(dst, to, to.id, seen.dst);
  if (pending.reads_source && !captured && src.readiness != dst.readiness) {
    end_use(src, to, from_host ? find_worker(*src.tensor).id : from.id, seen.src);
  }
  return pending;
}

}  // namespace dlx
