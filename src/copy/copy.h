#ifndef DLX_SRC_COPY_COPY_H_
#define DLX_SRC_COPY_COPY_H_

#include <cstddef>

#include "dlx/dlpack.h"
#include "src/copy/plan/plan.h"

namespace dlx {

/// The plan of a copy by copy_tensor. It counts bytes if elements fill whole bytes. Reads no data,
/// so addresses may belong to a device. Throws what copy_tensor throws.
CopyPlan plan_copy(const DLTensor& dst, bool dst_padded, const DLTensor& src, bool src_padded);

/// Whether copy_tensor converts elements of `src` to `dst`, another dtype: integers of at most 8
/// bits, of which one has fewer, as C converts them (the lowest bits are kept); float4 and float6
/// to float32.
bool converts(const DLDataType& dst, const DLDataType& src) noexcept;

/// Whether two indices of an array share an element. It has elements, and strides. Exact, unless the
/// search would take more than a bounded number of steps: then the answer is yes, as it is for an axis
/// that reaches over 2^63 elements.
bool repeats_elements(const DLTensor& array) noexcept;

/// Copies every element of src into dst. Both lie in memory that the CPU can access.
///
/// Both are checked descriptions (check_description). The same dtype, or one that converts(), and
/// the same shape are required; strides count elements, NULL means compact row-major. Strides may
/// have any sign; strides of src may be zero. If src and dst overlap, the result is as if src had
/// been read first.
///
/// `padded` is IS_SUBBYTE_TYPE_PADDED, one flag per side: each sub-byte element takes a whole byte.
/// Otherwise sub-byte elements are packed, the first one in the lowest bits.
///
/// Throws Error before a byte is written: INVALID_ARGUMENT (dtype or shape mismatch, a dst in which
/// two indices share an element) or OUT_OF_MEMORY (the operands overlap in a way that needs a
/// temporary). Other copies need only a fixed tile buffer per thread.
void copy_tensor(const DLTensor& dst, bool dst_padded, const DLTensor& src, bool src_padded);

/// Runs a plan of plan_copy(), or a part of it. The plan counts bytes, and its operands do not
/// overlap. Threads share the pieces; repeated runs are arranged once; a way copies the rest.
void execute(const CopyPlan& plan) noexcept;

/// The same on the calling thread alone.
void execute_alone(const CopyPlan& plan) noexcept;

/// Writes a line that describes how copy_tensor would copy, cut to `capacity` bytes and
/// zero-terminated. Returns the length of the whole line. Throws what copy_tensor throws.
size_t describe_copy(const DLTensor& dst, const DLTensor& src, char* buffer, size_t capacity);

}  // namespace dlx

#endif  // DLX_SRC_COPY_COPY_H_
