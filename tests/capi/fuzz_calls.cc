// Fuzzes the whole C interface the way that a hostile caller uses it: right and wrong arguments in
// any order. Every call ends in a status that is no bug of dlx, a failure has words and no handle,
// what dlx was given comes back exactly once, and the sanitizers see the rest.
#include <mutex>

#include "tests/capi/fuzz_caller.h"

namespace {

using namespace dlx_test;

/// Tensors that callers in several threads exchange.
std::mutex shared_mutex;
std::vector<Held> shared;
int callers = 0;

class Caller : CallerBase {
 public:
  Caller(const uint8_t* data, size_t size) : CallerBase(data, size) {}

  void run() {
    while (!in_.done()) step();
    for (const Held& held : tensors_) dlx_tensor_release(held.tensor);
    for (DLManagedTensorVersioned* managed : versioned_) managed->deleter(managed);
    for (DLManagedTensor* managed : legacy_) managed->deleter(managed);
  }

 private:
  void step() {
    if (tensors_.size() > 24) drop();
    switch (in_.below(24)) {
      case 0:
      case 1: return import();
      case 2: return make();
      case 3:
      case 4:
      case 5:
      case 6: return view();
      case 7:
      case 8: return copy();
      case 9: return copy_into();
      case 10:
      case 11: return export_dlpack();
      case 12: return reimport();
      case 13: return check_managed();
      case 14:
      case 15: return import_arrow();
      case 16: return export_arrow();
      case 17: return streams();
      case 18: return devices();
      case 19: return names();
      case 20: return share();
      case 21: return settings();
      default: return drop();
    }
  }

  void drop() {
    if (tensors_.empty()) return;
    const size_t at = in_.byte() % tensors_.size();
    dlx_tensor_release(tensors_[at].tensor);
    tensors_[at] = tensors_.back();
    tensors_.pop_back();
  }

  void make() {
    std::vector<int64_t> shape = in_.numbers(static_cast<size_t>(in_.below(5)));
    int64_t size = 1;
    for (int64_t& extent : shape) {
      if (!in_.one_in(16)) extent = in_.below(6);
      if (__builtin_mul_overflow(size, extent, &size)) size = INT64_MAX;
    }
    if (size > kSmall && size < kHuge) return;
    const DLDataType dtype = in_.dtype();
    dlx_empty_options options = DLX_EMPTY_OPTIONS_INIT;
    options.order = in_.below(3);
    if (in_.one_in(8)) options.flags = in_.byte();
    options.stream = stream();
    if (in_.one_in(4)) options.alignment = static_cast<uint64_t>(in_.number());
    if (in_.one_in(2)) options.allocator = &kAllocator;
    const auto ndim = in_.one_in(32) ? -1 : static_cast<int32_t>(shape.size());
    const int32_t where = device();
    // A caller's allocator returns memory of the process, as this device does.
    const dlx_status status =
        made(dlx_tensor_empty(ndim, shape.data(), &dtype, where, id(), &options, out()), true);
    if (status != DLX_OK || where != kDLCPU) return;
    dlx_tensor* fresh = tensors_.back().tensor;
    std::memset(dlx_tensor_data(fresh), 1, static_cast<size_t>(dlx_tensor_nbytes(fresh)));
  }

  void import() {
    const uint64_t flags =
        in_.one_in(8) ? in_.byte() : uint64_t{in_.one_in(4)} * DLPACK_FLAG_BITMASK_READ_ONLY;
    switch (in_.below(3)) {
      case 0: {
        auto producer = std::make_unique<Producer<DLManagedTensorVersioned>>(in_);
        producer->managed.flags = flags;
        producer->managed.version = {in_.one_in(16) ? in_.byte() : 1u,
                                     static_cast<uint32_t>(in_.below(5))};
        const bool readable = producer->description.readable;
        int32_t consumed = 7;
        made(dlx_tensor_from_dlpack_versioned(&producer->managed, &consumed, out()), readable);
        settle(&producer, consumed != 0);
        return;
      }
      case 1: {
        auto producer = std::make_unique<Producer<DLManagedTensor>>(in_);
        const bool readable = producer->description.readable;
        const dlx_status status =
            made(dlx_tensor_from_dlpack(&producer->managed, flags, out()), readable);
        settle(&producer, status == DLX_OK);
        return;
      }
      default: {
        auto description = std::make_unique<Description>(in_);
        const dlx_deleter_fn free_it = [](void*, void* user_data) {
          --live_things;
          // A deleter may call dlx.
          dlx_tensor* none = nullptr;
          require(dlx_tensor_slice(nullptr, 0, 0, 0, 1, &none) == DLX_ERROR_INVALID_ARGUMENT,
                  "slice");
          delete static_cast<Description*>(user_data);
        };
        const bool readable = description->readable;
        ++live_things;
        if (made(dlx_tensor_wrap(&description->tensor, flags, free_it, description.get(), out()),
                 readable) == DLX_OK) {
          description.release();
        } else {
          --live_things;
        }
      }
    }
  }
  template <typename P>
  void settle(std::unique_ptr<P>* producer, bool consumed) {
    if (consumed) {
      producer->release();
      return;
    }
    --live_things;
  }

  void view() {
    const Held from = pick();
    dlx_tensor* tensor = from.tensor;
    dlx_status status = DLX_OK;
    std::vector<int64_t> shape;
    std::vector<int32_t> axes(static_cast<size_t>(dlx_tensor_ndim(tensor)) + 1);
    switch (in_.below(9)) {
      case 0: {
        const int64_t start = in_.number(), stop = in_.number();
        status = dlx_tensor_slice(tensor, axis(), start, stop, in_.number(), out());
        break;
      }
      case 1: status = dlx_tensor_select(tensor, axis(), in_.number(), out()); break;
      case 2:
        for (size_t k = 0; k < axes.size(); ++k)
          axes[k] = in_.one_in(8) ? axis() : static_cast<int32_t>(k);
        if (axes.size() > 2) std::swap(axes[0], axes[axes.size() - 2]);
        status = dlx_tensor_permute(tensor, in_.one_in(2) ? nullptr : axes.data(), out());
        break;
      case 3:
        axes[0] = axis();
        status = in_.one_in(2)
                     ? dlx_tensor_squeeze(tensor, 0, nullptr, out())
                     : dlx_tensor_squeeze(tensor, in_.one_in(32) ? -1 : 1, axes.data(), out());
        break;
      case 4: status = dlx_tensor_expand_dims(tensor, axis(), out()); break;
      case 5:
        shape = in_.numbers(static_cast<size_t>(in_.below(3)));
        for (int32_t k = 0; k < dlx_tensor_ndim(tensor); ++k) {
          shape.push_back(in_.one_in(8) ? in_.number() : dlx_tensor_shape(tensor)[k]);
        }
        status = dlx_tensor_broadcast_to(tensor, static_cast<int32_t>(shape.size()), shape.data(),
                                         out());
        break;
      case 6: {
        const DLDataType dtype = in_.dtype();
        status = dlx_tensor_bitcast(tensor, &dtype, out());
        break;
      }
      case 7: {
        shape = in_.numbers(static_cast<size_t>(in_.below(5)));
        dlx_copy_options never = DLX_COPY_OPTIONS_INIT;
        never.copy = DLX_COPY_NEVER;
        status = dlx_tensor_reshape(tensor, static_cast<int32_t>(shape.size()), shape.data(),
                                    &never, out());
        break;
      }
      default: status = dlx_tensor_as_readonly(tensor, out());
    }
    made(status, from.readable);
  }

  void copy() {
    const Held from = pick_small();
    switch (in_.below(4)) {
      case 0: made(dlx_tensor_contiguous(from.tensor, copy_options(), out()), true); return;
      case 1: made(dlx_tensor_clone(from.tensor, copy_options(), out()), true); return;
      case 2: {
        const std::vector<int64_t> shape = {in_.one_in(2) ? -1 : in_.number(), in_.below(4)};
        const int32_t ndim = 1 + in_.below(2);
        made(dlx_tensor_reshape(from.tensor, ndim, shape.data(), copy_options(), out()), true);
        return;
      }
      default: {
        const int32_t where = device();
        made(dlx_tensor_to_device(from.tensor, where, id(), copy_options(), out()), true);
      }
    }
  }

  void copy_into() {
    const Held to = pick_small(), from = pick_small();
    if (in_.one_in(2)) {
      check(dlx_tensor_copy_from(to.tensor, from.tensor, copy_options()));
      return;
    }
    const DLTensor* dst = dlx_tensor_dltensor(to.tensor);
    const DLTensor* src = dlx_tensor_dltensor(from.tensor);
    std::vector<char> text(static_cast<size_t>(in_.byte()));
    check(dlx_copy_plan_describe(dst, src, text.data(), text.size()));
    // A padded tensor has more bytes than its description says, and never fewer.
    if ((dlx_tensor_flags(to.tensor) & DLPACK_FLAG_BITMASK_READ_ONLY) == 0) {
      check(dlx_copy(dst, src, copy_options()));
    }
  }

  void export_dlpack() {
    const Held from = pick();
    const int64_t size = dlx_tensor_size(from.tensor);
    const bool may_copy = from.readable && (size <= kSmall || size > kHuge);
    const dlx_export_options* options = export_options(may_copy);
    if (in_.one_in(3)) {
      DLManagedTensor* managed = nullptr;
      const dlx_status status = check(dlx_tensor_to_dlpack(from.tensor, options, &managed));
      require((status == DLX_OK) == (managed != nullptr), "an export without success, or none");
      if (managed != nullptr) legacy_.push_back(managed);
      return;
    }
    DLManagedTensorVersioned* managed = nullptr;
    const dlx_status status = check(dlx_tensor_to_dlpack_versioned(from.tensor, options, &managed));
    require((status == DLX_OK) == (managed != nullptr), "an export without success, or none");
    if (managed == nullptr) return;
    char report[1024];
    int32_t errors = 7;
    check(
        dlx_dlpack_check(managed, DLX_MANAGED_VERSIONED, report, sizeof report, &errors, nullptr));
    // An import keeps its producer's id, even if it is wrong.
    require(errors == 0 || std::strstr(report, "device_id") != nullptr, report);
    versioned_.push_back(managed);
  }

  /// Imports an export again, or releases it.
  void reimport() {
    if (!versioned_.empty()) {
      DLManagedTensorVersioned* managed = versioned_.back();
      versioned_.pop_back();
      if (in_.one_in(2)) return managed->deleter(managed);
      if (made(dlx_tensor_from_dlpack_versioned(managed, nullptr, out()), false) != DLX_OK) {
        managed->deleter(managed);
      }
    } else if (!legacy_.empty()) {
      DLManagedTensor* managed = legacy_.back();
      legacy_.pop_back();
      if (made(dlx_tensor_from_dlpack(managed, in_.below(2), out()), false) != DLX_OK) {
        managed->deleter(managed);
      }
    }
  }

  void check_managed() {
    Description description(in_);
    DLManagedTensorVersioned managed{};
    managed.version = {in_.one_in(8) ? in_.byte() : 1u, in_.byte()};
    managed.flags = in_.byte();
    managed.dl_tensor = description.tensor;
    DLManagedTensor old{};
    old.dl_tensor = description.tensor;
    std::vector<char> report(in_.byte());
    const int32_t kind = in_.one_in(16) ? in_.byte() : in_.below(2);
    const void* it = kind == DLX_MANAGED_LEGACY ? static_cast<void*>(&old) : &managed;
    check(dlx_dlpack_check(it, kind, report.data(), report.size(), nullptr, nullptr));
  }

  void import_arrow() {
    auto node = std::make_unique<ArrowNode>(in_, 3);
    const bool readable = node->readable;
    node->array.release = [](ArrowArray* self) {
      --live_things;
      delete static_cast<ArrowNode*>(self->private_data);
    };
    if (in_.one_in(64)) node->array.release = nullptr;
    if (in_.one_in(64)) node->schema.release = nullptr;
    ++live_things;
    dlx_status status = DLX_OK;
    const dlx_copy_options* options = copy_options();
    if (!readable) {
      copy_.copy = DLX_COPY_NEVER;
      options = &copy_;
    }
    ArrowNode* it = node.release();  // gone where the call has given it back already
    if (in_.one_in(3)) {
      ArrowDeviceArray array{};
      array.array = it->array;
      array.device_type = device();
      // Data of a wrong device is the process's memory, so only the process may read it.
      array.device_id = in_.one_in(2) ? -1 : id();
      if (in_.one_in(16)) array.sync_event = &array;
      const bool on_device = array.device_type == kDevice && array.sync_event == nullptr;
      status = made(dlx_tensor_from_arrow_device(&array, &it->schema, options, nullptr, out()),
                    readable && (on_device || array.device_type == kDLCPU));
    } else {
      status =
          made(dlx_tensor_from_arrow(&it->array, &it->schema, options, nullptr, out()), readable);
    }
    if (status == DLX_OK) return;
    --live_things;
    delete it;
  }

  void export_arrow() {
    const Held from = pick_small();
    dlx_arrow_options options = DLX_ARROW_OPTIONS_INIT;
    options.copy = in_.below(4);
    options.layout = in_.below(3);
    if (in_.one_in(2)) options.allocator = &kAllocator;
    ArrowDeviceArray array{};
    ArrowSchema schema{};
    dlx_status status = DLX_OK;
    if (in_.one_in(2)) {
      status = dlx_tensor_to_arrow(from.tensor, spoil(&options), &array.array, &schema);
    } else {
      status = dlx_tensor_to_arrow_device(from.tensor, spoil(&options), &array, &schema);
    }
    if (check(status) != DLX_OK) return;
    if (in_.one_in(2) && array.array.n_children == 1) {  // a child that is moved out lives on
      ArrowArray child = *array.array.children[0];
      array.array.children[0]->release = nullptr;
      array.array.release(&array.array);
      child.release(&child);
    } else {
      array.array.release(&array.array);
    }
    schema.release(&schema);
  }

  void streams() {
    const int32_t type = device(), where = id();
    int64_t number = stream();
    const Held held = pick_small();
    switch (in_.below(9)) {
      case 0:
        if (check(dlx_stream_create(type, where, &number)) == DLX_OK) {
          check(dlx_stream_destroy(type, where, number));
        }
        return;
      case 1: check(dlx_stream_synchronize(type, where, number)); return;
      case 2: check(dlx_stream_wait(type, where, number, stream())); return;
      case 3: check(dlx_stream_set_current(type, where, number)); return;
      case 4: check(dlx_stream_reset_current(type, where)); return;
      case 5: check(dlx_stream_get_current(type, where, &number)); return;
      case 6: check(dlx_tensor_wait_on_stream(held.tensor, number)); return;
      case 7: check(dlx_tensor_written_on_stream(held.tensor, number)); return;
      default: check(dlx_tensor_synchronize(held.tensor));
    }
  }

  void devices() {
    dlx_device_properties properties{};
    properties.struct_size = in_.one_in(8) ? in_.byte() : sizeof properties;
    check(dlx_device_info(device(), id(), &properties));
    char name[DLX_NAME_SIZE];
    int32_t type = device(), number = id();
    if (check(dlx_device_name(type, number, name, in_.one_in(8) ? in_.below(12) : sizeof name)) ==
        DLX_OK) {
      int32_t same_type = 0, same_id = 0;
      require(dlx_device_parse(name, &same_type, &same_id) == DLX_OK && same_type == type &&
                  same_id == number,
              "a device's name is not read back");
    }
    const void* pointer = reinterpret_cast<void*>(in_.one_in(2) ? in_.number() : int64_t{4096});
    check(dlx_device_of_pointer(pointer, &type, &number));
    check(dlx_device_ordinal_of_pointer(pointer, &number));
    check(dlx_device_synchronize(device(), id()));
    require(dlx_backend_reason(device()) != nullptr && dlx_device_count(device()) >= 0, "device");
  }

  void names() {
    std::string text;
    for (int32_t k = in_.below(12); k > 0; --k) text += static_cast<char>(in_.byte());
    static constexpr const char* kNames[] = {"float32", "int4x3", "<f4", "Zd",
                                             "?",       "cuda:1", "=2i", "bool"};
    if (in_.one_in(2)) text = kNames[in_.below(8)];
    DLDataType dtype = in_.dtype();
    check(dlx_dtype_parse(text.c_str(), &dtype));
    check(dlx_dtype_parse_format(text.c_str(), in_.below(3), &dtype));
    int32_t type = 0, number = 0;
    check(dlx_device_parse(text.c_str(), &type, &number));
    dtype = in_.dtype();
    std::vector<char> name(in_.one_in(4) ? static_cast<size_t>(in_.below(24)) : DLX_NAME_SIZE);
    if (check(dlx_dtype_name(&dtype, name.data(), name.size())) == DLX_OK) {
      DLDataType same{};
      require(dlx_dtype_parse(name.data(), &same) == DLX_OK && std::memcmp(&same, &dtype, 4) == 0,
              "a dtype's name is not read back");
    }
    check(dlx_dtype_format(&dtype, in_.below(3), name.data(), name.size()));
    int64_t bytes = 0;
    check(dlx_dtype_nbytes(&dtype, in_.number(), in_.byte(), &bytes));
  }

  /// With callers in other threads: takes one of theirs, or gives one, which nobody writes any
  /// more.
  void share() {
    const std::lock_guard<std::mutex> lock(shared_mutex);
    if (in_.one_in(2) && !shared.empty()) {
      const Held held = shared[in_.byte() % shared.size()];
      tensors_.push_back({dlx_tensor_retain(held.tensor), held.readable});
      return;
    }
    dlx_tensor* copy = nullptr;
    dlx_tensor* readonly = nullptr;
    if (check(dlx_tensor_clone(pick_small().tensor, nullptr, &copy)) != DLX_OK) return;
    const dlx_status status = check(dlx_tensor_as_readonly(copy, &readonly));
    dlx_tensor_release(copy);
    if (status != DLX_OK) return;
    if (shared.size() >= 8) {
      dlx_tensor_release(shared.front().tensor);
      shared.erase(shared.begin());
    }
    shared.push_back({readonly, true});
  }

  void settings() {
    switch (in_.below(5)) {
      case 0: check(dlx_set_num_threads(in_.below(6) - 1)); return;
      case 1: check(dlx_set_export_negative_strides(in_.below(5))); return;
      case 2: check(dlx_set_allocator(device(), in_.one_in(2) ? nullptr : &kAllocator)); return;
      case 3: {
        dlx_backend backend = fuzz_backend();
        if (in_.one_in(2)) backend.allocate = nullptr;
        check(dlx_register_backend(in_.one_in(2) ? kDevice : kDLCPU, &backend));
        return;
      }
      default: require(dlx_get_num_threads() >= 1 && dlx_get_export_negative_strides() >= 1, "get");
    }
  }
};

/// Runs once: hides the machine's drivers, and registers a device that fails sometimes.
bool prepare() {
  for (const char* variable : {"DLX_CUDA_PATH", "DLX_HIP_PATH", "DLX_OPENCL_PATH"}) {
    setenv(variable, "/nowhere/driver.so", 1);
  }
  const dlx_backend backend = fuzz_backend();
  return dlx_register_backend(kDevice, &backend) == DLX_OK;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const bool prepared = prepare();
  require(prepared, "the backend was not registered");
  {
    const std::lock_guard<std::mutex> lock(shared_mutex);
    ++callers;
  }
  Caller(data, size).run();
  const std::lock_guard<std::mutex> lock(shared_mutex);
  if (--callers > 0) return 0;
  for (const Held& held : shared) dlx_tensor_release(held.tensor);
  shared.clear();
  // Held objects are released when the device reports that their work is done, which takes several
  // queries.
  for (int tries = 0; live_things != 0 && tries < 1000; ++tries) {
    for (int32_t id = 0; id < 2; ++id) (void)dlx_device_synchronize(kDevice, id);
  }
  require(live_things == 0, "something was not given back, or twice");
  return 0;
}
