#include <algorithm>
#include <cstdarg>
#include <cstdio>

#include "src/copy/execute.h"
#include "src/copy/ways/repeat.h"
#include "src/copy/ways/way.h"

namespace dlx {
namespace {

const char* name_of(PlaneKind kind) noexcept {
  // not covered: no other kind
  switch (kind) {
    case PlaneKind::kRows: return "rows";
    case PlaneKind::kTranspose:
    case PlaneKind::kFolded: return "transpose";
    case PlaneKind::kSplit: return "split";
    case PlaneKind::kJoin: return "join";
    case PlaneKind::kGather: return "gather";
    case PlaneKind::kCells: return "cells";
    case PlaneKind::kSpread: return "spread";
  }
  return "?";  // not covered: no other kind
}

/// snprintf that can be called again and again: never past the end, counts what did not fit.
class Text {
 public:
  Text(char* buffer, size_t capacity) noexcept : buffer_(buffer), capacity_(capacity) {
    if (capacity > 0) buffer[0] = '\0';
  }
  [[gnu::format(printf, 2, 3)]] void add(const char* format, ...) noexcept {
    const size_t room = length_ < capacity_ ? capacity_ - length_ : 0;
    va_list values;
    va_start(values, format);
    const int n = std::vsnprintf(room > 0 ? buffer_ + length_ : nullptr, room, format, values);
    va_end(values);
    length_ += static_cast<size_t>(std::max(n, 0));
  }
  size_t length() const noexcept { return length_; }

 private:
  char* buffer_;
  size_t capacity_;
  size_t length_ = 0;
};

void add_schedule(Text* text, const Schedule& s) noexcept {
  text->add("%s of %lld-byte items, %s", name_of(s.kind), static_cast<long long>(s.item),
            s.kernels().name);
  for (int k = 0; k < s.ndim; ++k) {
    text->add("%s%lld (dst %lld, src %lld)%s", k == 0 ? "; loops " : " x ",
              static_cast<long long>(s.axes[k].extent), static_cast<long long>(s.axes[k].dst),
              static_cast<long long>(s.axes[k].src),
              k >= s.ndim - s.u_count ? " u"
              : s.along_v(k)          ? " v"
                                      : "");
  }
}

void add_repetition(Text* text, const Repetition& repetition) noexcept {
  if (repetition.is_large()) {
    text->add("; parts of the runs along loop %d arranged once", repetition.axis);
  } else if (repetition.exists()) {
    text->add("; runs of %lld bytes arranged once along loop %d",
              static_cast<long long>(repetition.run), repetition.axis);
  }
}

void add_way(Text* text, const Job& job) noexcept {
  const Way& way = way_for(job);
  text->add("; way %s: %s", way.name, way.words);
  if (const char* const details = details_of(way, job.s)) text->add(", %s", details);
}

}  // namespace

size_t describe_execution(const CopyPlan& plan, char* buffer, size_t capacity) noexcept {
  Text text(buffer, capacity);
  const Machine& machine = dlx::machine();
  const int64_t threads = threads_of(plan.size(), machine);
  const Traffic traffic = traffic_of(plan, machine, threads > 0);
  const Schedule s = schedule_of(plan, machine, traffic);
  add_schedule(&text, s);
  add_repetition(&text, repetition_of(plan, streams_runs(machine, traffic)));
  add_way(&text, Job(s, traffic));
  if (threads == 0) {
    text.add("; 1 thread");
  } else {
    text.add("; %d threads", static_cast<int>(threads));
  }
  return text.length();
}

}  // namespace dlx
