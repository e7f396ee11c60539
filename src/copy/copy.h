#ifndef DLX_SRC_COPY_COPY_H_
#define DLX_SRC_COPY_COPY_H_

#include <cstddef>

#include "dlx/dlpack.h"
#include "src/copy/plan/plan.h"

namespace dlx {

/// The plan of such a copy, without carrying it out; it counts bytes wherever elements allow. Reads
/// no data, so that the addresses may be a device's. Throws what copy_tensor throws.
CopyPlan plan_copy(const DLTensor& dst, bool dst_padded, const DLTensor& src, bool src_padded);

/// Copies every element of src into dst. Both live in memory that the CPU can reach.
///
/// Same dtype and same shape are required; strides count elements, NULL means compact row-major;
/// byte_offset is honoured. Strides may have any sign, those of src may be zero. Where src and dst
/// overlap, the result is as if src had been read first.
///
/// `padded` is IS_SUBBYTE_TYPE_PADDED, one flag a side: each sub-byte element takes a whole byte.
/// Otherwise sub-byte elements are packed, the first one in the lowest bits.
///
/// Throws Error before a byte is written: INVALID_ARGUMENT (dtype or shape mismatch, a dst in which
/// two indices share an element, sizes that overflow) or OUT_OF_MEMORY (the operands overlap in a
/// way that only a temporary can untangle). Everything else needs no memory beyond a fixed tile
/// buffer a thread.
void copy_tensor(const DLTensor& dst, bool dst_padded, const DLTensor& src, bool src_padded);

/// Runs a plan of plan_copy(), or a part of one, that counts bytes and whose operands do not
/// overlap: in pieces on some threads, runs that come again arranged once, and the rest by one of
/// the ways.
void execute(const CopyPlan& plan) noexcept;

/// Writes one line that says how copy_tensor would go about it, cut to `capacity` bytes and
/// zero-terminated, and returns the length of the whole line. Throws what copy_tensor throws.
size_t describe_copy(const DLTensor& dst, const DLTensor& src, char* buffer, size_t capacity);

}  // namespace dlx

#endif  // DLX_SRC_COPY_COPY_H_
