#ifndef DLX_SRC_PYTHON_TORCH_PLAIN_H_
#define DLX_SRC_PYTHON_TORCH_PLAIN_H_

#include "src/python/cpython.h"

namespace dlx::py {

/// Which tensors of torch have nothing that an import would lose: no conj or neg bit, no gradient.
/// Asking torch takes 90 to 140 ns, and ten times that beside a mode of torch's; reading the tensor's
/// struct takes 1 to 5 ns.
///
/// The struct is not part of torch's interface. So its offsets are searched in a dozen tensors whose
/// properties are known, and trusted only if each is found, once, in all of them. Even then only
/// what torch itself called plain passes: the words that hold a tensor's dispatch keys (device,
/// layout, lazy bits, functorch's wrappers …) are remembered when such a tensor has been imported,
/// and an unknown word leaves the answer to torch. A torch with other structs, or with new keys,
/// costs time, never truth.

/// When a tensor that requires grad is no obstacle.
enum class Gradient { kMatters, kIfRecorded, kIgnored };

/// Whether the struct says that an object, of any class, is such a tensor. False: ask torch.
/// kIfRecorded: a gradient matters only while torch records operations (not under torch.no_grad()).
bool is_known_plain(const PyObject* object, Gradient gradient = Gradient::kMatters) noexcept;

/// To be called for an object of exactly torch.Tensor or Parameter that has elements, after torch
/// exported it and said that it has neither lazy bits nor a gradient. Throws PythonError only for
/// what is not an Exception (KeyboardInterrupt).
void note_plain(const PyObject* object);

/// A function of torch's library c10, by its mangled name; NULL if there is none.
void* find_in_c10(const char* name) noexcept;

/// For another interpreter, whose torch is another one.
void forget_plain() noexcept;

}  // namespace dlx::py

#endif  // DLX_SRC_PYTHON_TORCH_PLAIN_H_
