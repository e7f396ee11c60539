#include "src/python/torch_plain.h"

#include <atomic>
#include <cstdint>
#include <cstring>
#include <new>

#include "src/python/errors.h"
#include "src/python/integers.h"
#include "src/python/lockless.h"
#include "src/python/reference.h"
#include "src/python/state.h"
#include "src/python/torch_fields.h"
#include "src/python/torch_modes.h"
#include "src/system/loader.h"

namespace dlx::py {
namespace {

/// What was found out about c10::TensorImpl, the struct behind a tensor. The Python object holds its
/// address right after the head (from torch 2.10 on; before, a flag that says who owns it follows).
struct Layout {
  PyObject* classes[2] = {};  ///< torch.Tensor and Parameter; owned, never released
  int keys = 0;               ///< offset of the dispatch keys
  int autograd = 0;           ///< offset of a pointer, NULL if autograd has no part in the tensor
  uint64_t lazy_bits = 0;     ///< the keys of the neg and conj bits
  bool (*requires_grad)(const void* impl) = nullptr;  ///< c10's own, or NULL
};

Layout layout;  // written once, before it is trusted
std::atomic<bool> trusted{false};

/// The dispatch keys that torch called plain.
GrowingList<uint64_t, 8> plain_keys;

/// Programs that import a few tensors do not pay the millisecond of a search. One that fails (inside
/// some mode, or in a torch that dlx does not know) is repeated ever more rarely.
constexpr uint64_t kFirstSearch = 16, kNextSearch = 16;
std::atomic<uint64_t> slow_answers{0}, next_search{kFirstSearch};

/// The struct has 176 bytes in torch 2.10 to 2.15, of which the keys are the last word. A search reads
/// nothing behind that.
constexpr int kLastOffset = 168;

template <typename Word>
Word word_at(const void* address, int64_t offset) noexcept {
  Word word;
  std::memcpy(&word, static_cast<const char*>(address) + offset, sizeof word);
  return word;
}

const void* impl_of(const PyObject* object) noexcept {
  return word_at<const void*>(object, head_bytes);
}

/// One tensor of the hook torch_samples, with what torch says about it.
struct Sample {
  enum Property { kNeg = 1, kConj = 2, kGrad = 4, kNoAutograd = 8 };
  const PyObject* object;
  const void* impl;
  uint64_t keys;
  int64_t properties;

  bool is(Property property) const noexcept { return (properties & property) != 0; }
};

struct Samples {
  static constexpr int kMost = 32;
  Sample items[kMost];
  int count = 0;

  const Sample* begin() const noexcept { return items; }
  const Sample* end() const noexcept { return items + count; }
};

Samples read_samples(PyObject* list) {
  Samples out;
  const int64_t count = api.PyTuple_Size(list);
  if (count < 1 || count > Samples::kMost) raise(api.value_error, "torch_samples: bad count");
  for (; out.count < count; ++out.count) {
    PyObject* const item = api.PyTuple_GetItem(list, out.count);
    Sample& sample = out.items[out.count];
    sample.object = check(api.PyTuple_GetItem(item, 0));
    sample.impl = api.PyLong_AsVoidPtr(check(api.PyTuple_GetItem(item, 1)));
    sample.keys = api.PyLong_AsUnsignedLongLong(check(api.PyTuple_GetItem(item, 2)));
    sample.properties = to_int64(check(api.PyTuple_GetItem(item, 3)), "properties");
    if (api.PyErr_Occurred() != nullptr) throw PythonError();
  }
  return out;
}

/// The only offset at which `fits` is true for the structs of all samples, or -1.
template <typename Fits>
int find_offset(const Samples& samples, Fits&& fits) noexcept {
  int found = -1;
  for (int offset = sizeof(void*); offset <= kLastOffset; offset += sizeof(void*)) {
    bool all = true;
    for (const Sample& sample : samples) {
      const auto word = word_at<uint64_t>(sample.impl, offset);
      all = all && fits(sample, word);
    }
    if (all && found >= 0) return -1;
    if (all) found = offset;
  }
  return found;
}

/// The bit of the keys that is set in all samples with the property and in no other; or 0.
uint64_t find_bit(const Samples& samples, Sample::Property property) noexcept {
  uint64_t with = ~uint64_t{0}, without = 0;
  for (const Sample& sample : samples) {
    if (sample.is(property)) {
      with &= sample.keys;
    } else {
      without |= sample.keys;
    }
  }
  const uint64_t bits = with & ~without;
  return (bits & (bits - 1)) == 0 ? bits : 0;
}

/// c10::TensorImpl::requires_grad() const, if torch exports it and it is right about all samples.
auto find_requires_grad(const Samples& samples) noexcept -> bool (*)(const void*) {
  void* const symbol = find_in_c10("_ZNK3c1010TensorImpl13requires_gradEv");
  // not covered: the same
  if (symbol == nullptr) return nullptr;
  const auto function = reinterpret_cast<bool (*)(const void*)>(symbol);
  for (const Sample& sample : samples) {
    // not covered: a torch of another layout
    if (function(sample.impl) != sample.is(Sample::kGrad)) return nullptr;
  }
  return function;
}

/// Fills `out`, of which the classes are known; false if the structs are not what dlx expects.
bool find_layout(const Samples& samples, Layout* out) noexcept {
  for (const Sample& sample : samples) {
    const bool exact =
        class_of(sample.object) == out->classes[0] || class_of(sample.object) == out->classes[1];
    if (!exact || sample.impl == nullptr || impl_of(sample.object) != sample.impl) return false;
  }
  out->keys =
      find_offset(samples, [](const Sample& sample, uint64_t word) { return word == sample.keys; });
  out->autograd = find_offset(samples, [](const Sample& sample, uint64_t word) {
    if (sample.is(Sample::kGrad)) return word != 0;
    return word == 0 || !sample.is(Sample::kNoAutograd);
  });
  const uint64_t neg = find_bit(samples, Sample::kNeg), conj = find_bit(samples, Sample::kConj);
  out->lazy_bits = neg | conj;
  if (out->keys < 0 || out->autograd < 0 || neg == 0 || conj == 0) return false;
  out->requires_grad = find_requires_grad(samples);
  return true;
}

/// Searches the offsets, and trusts them if all are found.
void search() {
  const WithoutTorchModes without;
  // (torch.Tensor, Parameter, samples)
  const Ref found(check(call_objects(state.torch_samples)));
  PyObject* const list = check(api.PyTuple_GetItem(found.get(), 2));
  Layout next;
  for (int i = 0; i < 2; ++i) next.classes[i] = check(api.PyTuple_GetItem(found.get(), i));
  if (!find_layout(read_samples(list), &next)) return;
  for (PyObject* owned : next.classes) api.Py_IncRef(owned);
  layout = next;
  trusted.store(true, std::memory_order_release);
}

void count_slow_answer() {
  const uint64_t count = slow_answers.fetch_add(1, std::memory_order_relaxed) + 1;
  if (count != next_search.load(std::memory_order_relaxed)) return;
  next_search.store(count * kNextSearch, std::memory_order_relaxed);
  try {
    search();
  } catch (const PythonError&) {
    if (is_urgent()) throw;
    api.PyErr_Clear();
  }
}

bool is_exact(const PyObject* object) noexcept {
  const PyObject* type = class_of(object);
  return type == layout.classes[0] || type == layout.classes[1];
}

}  // namespace

void* find_in_c10(const char* name) noexcept {
  try {
    void* const library = sys::find_loaded(sys::file_name("c10").c_str());
    // not covered: a torch without c10
    return library == nullptr ? nullptr : sys::find_symbol(library, name);
  } catch (const std::bad_alloc&) {
    return nullptr;  // not covered: memory has run out
  }
}

bool is_known_plain(const PyObject* object, Gradient gradient) noexcept {
  if (!trusted.load(std::memory_order_acquire) || !is_exact(object)) return false;
  const void* const impl = impl_of(object);
  // not covered: the same
  if (impl == nullptr) return false;
  const auto keys = word_at<uint64_t>(impl, layout.keys);
  for (const uint64_t known : plain_keys) {
    if (known != keys) continue;
    if (word_at<const void*>(impl, layout.autograd) == nullptr) return true;
    if (gradient == Gradient::kIgnored) return true;
    if (layout.requires_grad != nullptr && !layout.requires_grad(impl)) return true;
    return gradient == Gradient::kIfRecorded && !torch_records();
  }
  return false;
}

void note_plain(const PyObject* object) {
  if (!trusted.load(std::memory_order_acquire)) return count_slow_answer();
  if (!is_exact(object)) return;
  const auto keys = word_at<uint64_t>(impl_of(object), layout.keys);
  if ((keys & layout.lazy_bits) != 0) return;
  for (const uint64_t known : plain_keys) {
    // not covered: another thread, at that moment
    if (known == keys) return;
  }
  plain_keys.add([&](uint64_t* added) { *added = keys; });
}

void forget_plain() noexcept {
  trusted = false;
  plain_keys.clear();
  slow_answers = 0;
  next_search = kFirstSearch;
}

}  // namespace dlx::py
