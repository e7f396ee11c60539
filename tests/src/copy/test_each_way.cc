// Runs every way that suits a random job, whatever ways are before it in the list. Each writes exactly
// what an element-wise copy writes. So the order of the list decides how fast a copy is, never
// whether it is right.
#include <cstdio>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "layout_test.h"
#include "layouts.h"
#include "sides.h"
#include "src/copy/copy.h"
#include "src/copy/ways/way.h"

namespace {

using dlx_test::Layout;
using dlx_test::Sides;

struct Tried {
  const Layout& layout;
  const dlx::Schedule& schedule;
  dlx::Traffic traffic;
  Sides& sides;
  std::map<std::string, int>& times;
};

void try_way(const dlx::Way& way, void* data) {
  const Tried& tried = *static_cast<const Tried*>(data);
  const dlx::Job job(tried.schedule, tried.traffic);
  assert_true(job.has_buffers());
  if (!way.suits(job)) return;
  tried.sides.clear();
  way.run(job);
  ++tried.times[way.name];
  if (!tried.sides.is_right()) {
    print_message("%s is wrong: %s\n", way.name, description_of(tried.layout).c_str());
  }
  assert_true(tried.sides.is_right());
}

/// Runs each way for each kind of traffic; folded planes also go plane by plane.
void try_all(const Layout& layout, std::map<std::string, int>* times) {
  Sides sides(layout);
  const dlx::CopyPlan plan = sides.plan();
  if (plan.empty() || plan.in_bits()) return;
  for (const dlx::Traffic traffic : {dlx::Traffic::kCached, dlx::Traffic::kSparse,
                                     dlx::Traffic::kStreamed, dlx::Traffic::kShared}) {
    const dlx::Schedule schedule(plan, dlx::machine(), dlx::Held::kNeither,
                                 traffic != dlx::Traffic::kCached);
    Tried tried = {layout, schedule, traffic, sides, *times};
    dlx::each_way(dlx::goes_past_caches(traffic), try_way, &tried);
  }
}

void ways_are_right_in_any_order(void**) {
  std::map<std::string, int> times;
  dlx_test::Choices choices(5);
  dlx_test::RandomLayouts layouts(11);
  for (int i = 0; i < 40000;) {
    const Layout layout = layouts.next();
    int64_t bytes = layout.item;
    for (const int64_t extent : layout.shape) bytes *= extent;
    if (bytes > 40000) continue;
    const dlx_test::RandomTuning tuning(choices);
    try_all(layout, &times);
    ++i;
  }
  for (const auto& [name, n] : times) print_message("%s: %d\n", name.c_str(), n);
  const auto was_tried = [](const dlx::Way& way, void* data) {
    const auto& seen = *static_cast<std::map<std::string, int>*>(data);
    // Ways that need byte permutations, or wider registers, do not run with every instruction set.
    for (const char* name : {"spaced", "pattern", "line_by_line"}) {
      if (std::strcmp(way.name, name) == 0) return;
    }
    if (seen.count(way.name) == 0) print_message("%s was not tried\n", way.name);
    assert_int_equal(seen.count(way.name), 1);
  };
  dlx::each_way(true, was_tried, &times);
  dlx::each_way(false, was_tried, &times);
}

/// Items of two bytes whose folded planes have rows shorter than a register. The kernel for plain
/// transpositions once wrote such planes beyond the end of dst.
void folded_planes_are_not_copied_as_plain_planes(void**) {
  int folded = 0;
  dlx_test::Choices choices(3);
  for (int i = 0; i < 2000; ++i) {
    Layout layout;
    layout.item = 2;
    layout.shape = {12, 8, 2, 2, 36};
    layout.dst_steps = dlx_test::compact(layout.shape);
    layout.src_steps.resize(5);
    std::vector<size_t> order = {0, 1, 2, 3, 4};
    for (size_t k = 5; k > 1; --k) {
      std::swap(order[k - 1], order[static_cast<size_t>(choices.below(static_cast<int64_t>(k)))]);
    }
    int64_t step = 1;
    for (const size_t k : order) {
      layout.src_steps[k] = step;
      step *= layout.shape[k];
    }
    Sides sides(layout);
    const dlx::Schedule schedule(sides.plan(), dlx::machine(), dlx::Held::kNeither, false);
    if (schedule.kind != dlx::PlaneKind::kFolded) continue;
    ++folded;
    const dlx::Job job(schedule, dlx::Traffic::kCached);

    dlx::run_planes(job);

    assert_true(sides.is_right());
  }
  assert_true(folded > 0);
}

}  // namespace

int main(int argc, char** argv) {
  const CMUnitTest layouts[] = {
      cmocka_unit_test(ways_are_right_in_any_order),
      cmocka_unit_test(folded_planes_are_not_copied_as_plain_planes),
  };
  return dlx_test::run_layouts(argc, argv, layouts);
}
