#include <cstddef>
#include <iterator>
#include <utility>

#include "src/copy/ways/planes.h"
#include "src/copy/ways/way.h"

#ifdef DLX_COPY_SWITCH
#include <cstdlib>
#include <cstring>
#endif

namespace dlx {
namespace {

/// Cheap tests that rule a way out for most small copies, inlined to save the call of suits().
template <bool (*kSuits)(const Job& job) noexcept, int kLeastAxes>
bool with_axes(const Job& job) noexcept {
  return job.s.ndim >= kLeastAxes && kSuits(job);
}
template <bool (*kSuits)(const Job& job) noexcept>
bool with_odd_items(const Job& job) noexcept {
  return only_strips_arrange(job.s.item) && kSuits(job);
}

// The lists. The first row that suits is taken. A row without a name ends the list: the job goes
// through the caches.

/// Jobs that exceed the caches. docs/decisions.md (26) has what each way is worth.
constexpr Way kLarge[] = {
    {"fills", "rows filled past the caches", suits_fills, run_fills},
    {"in_order", "written in order", suits_in_order_when_large, run_in_order},
    {nullptr, nullptr, suits_caches, nullptr},
    // In the order of dst.
    {"regrouped", "rows regrouped and streamed", suits_regrouped, run_regrouped},
    {"runs", "runs streamed", suits_runs_alone, run_runs},
    {"spaced", "lines gathered and streamed", suits_spaced, run_spaced},
    {"pattern", "patterns streamed", suits_pattern, run_pattern},
    {"runs", "runs streamed", suits_runs_of_many_lines, run_runs},
    {"backwards", "rows streamed from their end", suits_backwards, run_backwards},
    {"runs", "runs streamed", suits_runs, run_runs},
    // Neighbours in dst are far apart in src.
    {"boxes", "streamed in boxes", suits_boxes_of_gathered_items, run_boxes},
    {"relay", "by way of a buffer", with_axes<suits_relay, 2>, run_relay},
    {"boxes", "streamed in boxes", suits_boxes_of_rows, run_boxes},
    {"gathered", "gathered and streamed", suits_gathered, run_gathered},
    {"line_by_line", "streamed line by line", suits_line_by_line, run_strips},
    {"strips", "streamed in strips", suits_strips, run_strips},
    {nullptr, nullptr, suits_caches_rather_than_boxes, nullptr},
    {"boxes", "streamed in boxes", suits_boxes_first, run_boxes},
    {nullptr, nullptr, suits_caches_rather_than_tiles, nullptr},
    {"tiles", "streamed in tiles", suits_tiles, run_tiles},
    {"boxes", "streamed in boxes", suits_boxes, run_boxes},
};

/// Jobs inside the caches that are large enough for buffers.
constexpr Way kCached[] = {
    {"in_order", "written in order", suits_in_order, run_in_order},
    {"strips", "written in strips", with_odd_items<suits_cached_strips>, run_strips},
    {"strips", "streamed in strips", with_odd_items<suits_cached_strips_past_caches>, run_strips},
    {"relay", "by way of a buffer", with_axes<suits_relay, 2>, run_relay},
};

/// Jobs through the caches, without buffers.
constexpr Way kPlain[] = {
    {"in_order", "written in order", suits_in_order, run_in_order},
    {"folded", "written in order, axes folded", suits_folded, run_folded},
    {"table", "written in order, by a table of offsets", with_axes<suits_table_of_far_items, 3>,
     run_table},
    {"across", "written in order, across planes", with_axes<suits_across, 3>, run_across},
    {"table", "written in order, by a table of offsets", with_axes<suits_table, 3>, run_table},
    {"planes", "written in order, plane by plane", suits_planes, run_planes},
};

#ifdef DLX_COPY_SWITCH
/// For tests and benchmarks: whether DLX_COPY_WITHOUT=NAME,NAME... leaves the way out. The last way
/// suits every job, and stays.
bool is_left_out(const Way& way) noexcept {
  static const char* const names = std::getenv("DLX_COPY_WITHOUT");
  if (names == nullptr || way.name == nullptr) return false;
  const size_t length = std::strlen(way.name);
  for (const char* at = names; (at = std::strstr(at, way.name)) != nullptr; at += length) {
    const bool begins = at == names || at[-1] == ',';
    if (begins && (at[length] == '\0' || at[length] == ',')) return true;
  }
  return false;
}
#else
constexpr bool is_left_out(const Way&) noexcept { return false; }
#endif

/// Unrolled, so that calls are direct.
template <const auto& kWays, size_t... I>
inline const Way* first_of(const Job& job, std::index_sequence<I...>) noexcept {
  const Way* found = nullptr;
  (void)((kWays[I].suits(job) && !is_left_out(kWays[I]) && (found = &kWays[I]) != nullptr) || ...);
  return found;
}

template <const auto& kWays>
inline const Way* first_of(const Job& job) noexcept {
  return first_of<kWays>(job, std::make_index_sequence<sizeof kWays / sizeof kWays[0]>());
}

}  // namespace

const Way& way_for(const Job& job) noexcept {
  const Way* const found = job.is_large() ? first_of<kLarge>(job) : first_of<kCached>(job);
  if (found != nullptr && found->name != nullptr) return *found;
  return *first_of<kPlain>(job);
}

void run_in_caches(const Schedule& schedule) noexcept {
  const Job job(schedule, Traffic::kCached);
  first_of<kPlain>(job)->run(job);
}

void each_way(bool large, void (*see)(const Way& way, void* data), void* data) {
  const auto all = [&](const Way* first, const Way* end) {
    for (; first != end; ++first) {
      if (first->name != nullptr) see(*first, data);
    }
  };
  if (large) {
    all(std::begin(kLarge), std::end(kLarge));
  } else {
    all(std::begin(kCached), std::end(kCached));
  }
  all(std::begin(kPlain), std::end(kPlain));
}

const char* details_of(const Way& way, const Schedule& s) noexcept {
  return way.run == run_planes ? planes_in_words(s) : nullptr;
}

}  // namespace dlx
