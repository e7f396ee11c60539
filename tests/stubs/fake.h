// The controls of the fake drivers (fake_libcuda.so, fake_libamdhip64.so) for tests.
//
// A fake is a real shared object with the driver's functions. It simulates devices on the host:
//   - the CPU cannot access device memory; only the fake can;
//   - the schedule decides when work is done, in any order that streams and events allow;
//   - a call that the driver's rules forbid returns the driver's error, or ends the process if the
//     driver's behaviour would be undefined.
//
// Environment, read when the fake is first called: FAKE_SCHEDULE (see set_schedule), FAKE_DEVICES
// (count, default 1), FAKE_FAIL_AT=n or n:code, FAKE_STUB=1 (every call returns 34, as the
// toolkit's link-time stub does), FAKE_VERSION (of the driver, as it counts), FAKE_ARCH (of AMD
// devices).
#ifndef DLX_TESTS_STUBS_FAKE_H_
#define DLX_TESTS_STUBS_FAKE_H_

#include <stddef.h>
#include <stdint.h>

/// Existing objects, and mistakes since the start.
typedef struct fake_report {
  int64_t contexts;         ///< made by cuCtxCreate and not destroyed
  int64_t primary_retains;  ///< of all devices together
  int64_t streams;
  int64_t events;
  int64_t modules;
  int64_t graphs;
  int64_t pools;
  int64_t pools_keep;        ///< bytes that these keep when a stream has been waited for
  int64_t allocations;       ///< device and managed memory that nobody freed
  int64_t host_allocations;  ///< pinned memory that nobody freed
  int64_t pending;           ///< work that is not done
  int64_t pushed;            ///< contexts on the calling thread's stack
  // Mistakes: 0 in a correct program.
  int64_t double_frees;
  int64_t used_when_dead;  ///< work ran on memory that was freed, or not allocated yet in its order
  int64_t out_of_bounds;   ///< work reached outside an allocation
  int64_t waited_for_blocked;  ///< the host waited for work that never ends (block_stream)
  int64_t captures_broken;     ///< captures that a forbidden call invalidated
} fake_report;

/// The exported control functions, "fake_" before each name: X(result, name, parameters).
#define FAKE_CONTROLS(X)                                                                               \
  /* "eager": at once. "latest": only when the host waits, and only the work that the wait needs. */   \
  /* "random:SEED": at random times, in any allowed order. */                                          \
  X(void, set_schedule, (const char* schedule))                                                        \
  /* Does all work that is not blocked. */                                                             \
  X(void, finish, (void))                                                                              \
  /* From now on the n-th call (from 1) fails with `code` and does nothing; 0: none. */                \
  X(void, fail_nth_call, (int64_t n, int code))                                                        \
  /* From now on every call of that name fails with `code`; NULL: none. */                             \
  X(void, fail_calls_of, (const char* name, int code))                                                 \
  /* The call that was made to fail; "" if none. */                                                    \
  X(const char*, failed_call, (void))                                                                  \
  /* From now on the n-th wait (from 1), of the host or of a stream, does nothing; 0: none. */         \
  X(void, ignore_nth_wait, (int64_t n))                                                                \
  /* Whether waits of the calling thread count, for that and for waits(); the default is yes. */       \
  X(void, count_waits, (int on))                                                                       \
  /* The call whose wait was left out; "" if none was. */                                              \
  X(const char*, ignored_wait, (void))                                                                 \
  /* The next piece of work fails with `code`: the context is then lost. */                            \
  X(void, break_next_work, (int code))                                                                 \
  /* Submits work that does not end before unblock. The stream's handle is interpreted in the */       \
  /* calling thread's current context. */                                                              \
  X(void, block_stream, (void* stream))                                                                \
  X(void, unblock, (void))                                                                             \
  /* Every call from now on returns 4, as at the exit of a process. */                                 \
  X(void, shutdown, (void))                                                                            \
  X(void, set_stub, (int stub))                                                                        \
  X(void, set_version, (int version))                                                                  \
  X(void, set_devices, (int count))                                                                    \
  X(void, set_arch, (const char* arch))                                                                \
  /* Whether threads without a current context have no capture mode, as the documentation allows. */   \
  X(void, set_modes_need_context, (int on))                                                            \
  /* Whether CUDA's pinned memory belongs to no device, like memory of a host pool. */                 \
  X(void, set_host_pools, (int on))                                                                    \
  /* Whether CUDA's devices are slices of GPUs (MIG). */                                               \
  X(void, set_sliced, (int sliced))                                                                    \
  /* A device attribute by the driver's own number. */                                                 \
  X(void, set_attribute, (int device, int attribute, int value))                                       \
  /* Capacity in bytes of a device and of pinned memory. */                                            \
  X(void, set_memory, (int device, size_t bytes))                                                      \
  X(void, set_host_memory, (size_t bytes))                                                             \
  /* Restarts the addresses of device memory. Only while all memory is free and no work is pending. */ \
  X(void, reuse_addresses, (void))                                                                     \
  X(void, get_report, (fake_report * out))                                                             \
  /* Calls since clear_log: of one name, of all; the names, one on a line (borrowed). In a */          \
  /* forked child only the number is known. */                                                         \
  X(int64_t, calls, (const char* name))                                                                \
  X(int64_t, all_calls, (void))                                                                        \
  X(int64_t, waits, (void))                                                                            \
  X(const char*, call_log, (void))                                                                     \
  X(void, clear_log, (void))                                                                           \
  /* Reads and writes device memory without a driver call; 0 if it is not device memory. */            \
  X(int, peek, (uint64_t address, void* out, size_t size))                                             \
  X(int, poke, (uint64_t address, const void* data, size_t size))

#endif  // DLX_TESTS_STUBS_FAKE_H_
