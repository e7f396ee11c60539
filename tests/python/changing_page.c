/* A page whose n-th read is followed by a change of one of its numbers: a producer that changes what it
 * says at the worst moment, without a race. A read of the page faults; the handler opens the page for one
 * instruction. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <ucontext.h>

enum { kBytes = 4096, kSingleStep = 0x100 };

static char *page;
static int64_t *changed, changed_to;
static int reads, changed_after;
static int reads_at[kBytes];
static struct sigaction before_fault, before_step;

static void on_fault(int number, siginfo_t *info, void *context) {
  (void)number;
  const uintptr_t at = (uintptr_t)info->si_addr - (uintptr_t)page;
  if (at >= kBytes) {
    sigaction(SIGSEGV, &before_fault, NULL);
    return;
  }
  ++reads;
  ++reads_at[at];
  mprotect(page, kBytes, PROT_READ | PROT_WRITE);
  ((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL] |= kSingleStep;
}

static void on_step(int number, siginfo_t *info, void *context) {
  (void)number;
  (void)info;
  if (reads == changed_after) *changed = changed_to;
  mprotect(page, kBytes, PROT_NONE);
  ((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL] &= ~(long long)kSingleStep;
}

void *open_page(void) {
  if (page == NULL) {
    page = mmap(NULL, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  }
  return page;
}

void watch(int64_t *number, int64_t to, int after) {
  struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
  changed = number;
  changed_to = to;
  changed_after = after;
  reads = 0;
  for (int i = 0; i < kBytes; ++i) reads_at[i] = 0;
  sigaction(SIGSEGV, &action, &before_fault);
  action.sa_sigaction = on_step;
  sigaction(SIGTRAP, &action, &before_step);
  mprotect(page, kBytes, PROT_NONE);
}

/* How often the page was read. */
int end_watch(void) {
  mprotect(page, kBytes, PROT_READ | PROT_WRITE);
  sigaction(SIGSEGV, &before_fault, NULL);
  sigaction(SIGTRAP, &before_step, NULL);
  return reads;
}

int reads_of(int offset) { return reads_at[offset]; }
