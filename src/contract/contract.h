#ifndef DLX_SRC_CONTRACT_CONTRACT_H_
#define DLX_SRC_CONTRACT_CONTRACT_H_

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "dlx/dlpack.h"

/// What a compiled function demands of its arguments, read once from a text that call.h describes.
/// Immutable except for the count.
struct dlx_contract;

namespace dlx {

/// kInt and kFloat have the width of `Parameter::scalar`.
enum class Kind : uint8_t { kArray, kInt, kFloat, kBool, kText, kStream };

/// What the function returns besides its result arrays.
enum class Returns : uint8_t { kStatus, kVoid, kInt, kFloat, kTensor };

enum class Layout : uint8_t { kRowMajor, kColumnMajor, kStrided };

/// Extents of a parameter that are no numbers: any, or -2 - i for the name i of the contract.
constexpr int64_t kAnyExtent = -1;
inline bool is_name(int64_t extent) noexcept { return extent < kAnyExtent; }
inline int name_index(int64_t extent) noexcept { return static_cast<int>(-2 - extent); }
inline int64_t extent_of_name(int index) noexcept { return -2 - index; }

struct Parameter {
  static constexpr int kMostDTypes = 16;
  static constexpr int kMostAxes = 8;

  Kind kind = Kind::kArray;
  bool optional = false;  ///< it has a default; an array's is NULL

  // Of an array. First what is read in every call.
  bool result = false;  ///< dlx allocates it, and the call returns it
  bool usual = false;   ///< has_usual_form() may accept arrays
  int dtype_count = 0;  ///< 0: any dtype
  int axes = 0;
  uint64_t refused_flags = 0;  ///< DLPack's flags of arrays that the function cannot take
  DLDataType dtypes[kMostDTypes] = {};
  uintptr_t unaligned_bits[kMostDTypes] = {};  ///< of an address, for each dtype
  int64_t extents[kMostAxes] = {};

  std::string name;
  std::string declared;  ///< "float32[n, m] writable", for messages
  std::string type;      ///< of an array: "float32|float64"

  bool writable = false;
  bool may_copy = false;  ///< a temporary of the right dtype and layout may stand for the argument
  bool takes_grad = false;  ///< also tensors that require grad
  bool unaligned = false;
  bool ellipsis = false;  ///< more axes may come before those of `extents`
  Layout layout = Layout::kRowMajor;
  int32_t device_type = kDLCPU;  ///< 0: any
  std::string device = "cpu";    ///< its name
  int same_dtype_as = -1;        ///< an earlier array whose dtype it must have

  // Of a number.
  DLDataType scalar{kDLInt, 64, 1};  ///< its type in C
  int bound_name = -1;               ///< the extents' name that it is, or -1

  int64_t default_int = 0;
  double default_float = 0;
  std::string default_text;  ///< of a floating-point number: as the contract has it
};

}  // namespace dlx

struct dlx_contract {
  static constexpr int kMostParameters = 32;
  static constexpr int kMostNames = 16;
  static constexpr int kMostResults = 8;

  std::atomic<int64_t> references{1};
  std::string function;
  std::vector<dlx::Parameter> parameters;
  std::vector<std::string> names;  ///< of extents
  dlx::Returns returns = dlx::Returns::kStatus;
  int results = 0;    ///< result arrays
  int positions = 0;  ///< parameters that a caller passes: neither result nor stream
  int stream = -1;    ///< the parameter that gets the stream, or -1
};

namespace dlx {

using Contract = ::dlx_contract;

/// Reads a contract. `name` is the function's if the text has none. Throws Error(INVALID_ARGUMENT)
/// that shows where the text is wrong, and std::bad_alloc.
Contract* parse_contract(const char* text, const char* name = "function");

void retain(Contract* contract) noexcept;
void release(Contract* contract) noexcept;

}  // namespace dlx

#endif  // DLX_SRC_CONTRACT_CONTRACT_H_
