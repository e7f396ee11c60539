// Runs the tests that the other files of this folder state.
#include <cstdio>
#include <map>
#include <set>
#include <string>

#include "src/copy/schedule/machine.h"
#include "src/copy/ways/way.h"
#include "tests/src/copy/sides.h"
#include "way_test.h"

namespace dlx_test {
namespace {

std::map<std::string, const WayTest*>& tests() {
  static std::map<std::string, const WayTest*> all;
  return all;
}

/// ".../boxes.cc": "boxes"
std::string stem_of(const std::string& file) {
  const size_t slash = file.rfind('/');
  const std::string name = slash == file.npos ? file : file.substr(slash + 1);
  return name.substr(0, name.rfind('.'));
}

Layout layout_of(const Case& c) {
  Layout layout;
  layout.item = c.item;
  layout.shape = c.shape;
  layout.src_steps = c.src_steps;
  layout.dst_steps = c.dst_steps;
  layout.dst_start = c.dst_start;
  int64_t step = 1;
  for (size_t k = c.shape.size(); c.dst_steps.empty() && k-- > 0; step *= c.shape[k]) {
    layout.dst_steps.insert(layout.dst_steps.begin(), step);
  }
  return layout;
}

/// Copies the case on a machine with these kernels. Returns the way that it takes.
std::string run(const Case& c, bool large, const dlx::Machine& machine, bool can_run) {
  const Layout layout = layout_of(c);
  Sides sides(layout);
  const dlx::Traffic traffic = large ? dlx::Traffic::kStreamed : dlx::Traffic::kCached;
  const dlx::Schedule schedule(sides.plan(), machine, dlx::Held::kNeither, large);
  const dlx::Job job(schedule, traffic);
  const dlx::Way& way = dlx::way_for(job);
  if (can_run) {
    sides.clear();
    way.run(job);
    if (!sides.is_right())
      print_message("%s by %s is wrong: %s\n", way.name, machine.kernels->name, c.what);
    assert_true(sides.is_right());
  }
  return way.name;
}

template <class See>
void each_case(const See& see) {
  for (const auto& [way, test] : tests()) {
    for (const Cases& cases : test->cases) {
      for (const Case& c : cases.all) see(way, cases, c);
    }
  }
}

void every_way_has_a_file_and_every_file_a_way(void**) {
  std::set<std::string> ways, files;
  const auto note = [](const dlx::Way& way, void* data) {
    static_cast<std::set<std::string>*>(data)->insert(way.name);
  };
  dlx::each_way(true, note, &ways);
  dlx::each_way(false, note, &ways);
  for (const auto& [way, test] : tests()) files.insert(way);

  for (const std::string& way : ways) {
    if (files.count(way) == 0) print_message("tests/src/copy/ways/%s.cc is missing\n", way.c_str());
  }
  assert_true(ways == files);
}

#if defined(__x86_64__)
const dlx::Kernels& set_named(const std::string& isa) {
  if (isa == "avx512") return dlx::kKernelsAvx512;
  return isa == "avx2" ? dlx::kKernelsAvx2 : dlx::kKernelsBase;
}

// The choice runs no kernel, so that any processor checks it.
void layouts_take_the_ways_that_the_files_say(void**) {
  std::map<std::string, std::set<bool>> sides;  // of each way: some cases take it, some do not
  int wrong = 0;
  each_case([&](const std::string& way, const Cases& cases, const Case& c) {
    const dlx::Kernels& set = set_named(cases.isa);
    const dlx::Machine machine(set, (cases.kib << 10) / dlx::Machine::kSetBytes);
    const std::string taken = run(c, cases.large, machine, dlx::kernels_named(set.name) != nullptr);
    sides[way].insert(taken == way);
    if (taken == c.way) return;
    ++wrong;
    print_message("%s.cc: %s: takes %s, expected %s\n", way.c_str(), c.what, taken.c_str(), c.way);
  });
  assert_int_equal(wrong, 0);
  for (const auto& [way, both] : sides) {
    if (both.size() < 2) print_message("%s.cc shows one side only\n", way.c_str());
    assert_int_equal(both.size(), 2);
  }
}
#else
void layouts_take_the_ways_that_the_files_say(void**) { skip(); }
#endif

void bytes_are_exact_with_each_instruction_set(void**) {
  for (const char* name : {"sse2", "avx2", "avx512", "neon"}) {
    const dlx::Kernels* const set = dlx::kernels_named(name);
    if (set == nullptr) continue;
    const dlx::Machine machine(*set, dlx::machine().cache_sets);
    each_case([&](const std::string&, const Cases&, const Case& c) {
      for (const bool large : {false, true}) run(c, large, machine, true);
    });
  }
}

}  // namespace

WayTest::WayTest(const char* file, std::vector<Cases> cases_in)
    : way(stem_of(file)), cases(std::move(cases_in)) {
  tests()[way] = this;
}

}  // namespace dlx_test

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(dlx_test::every_way_has_a_file_and_every_file_a_way),
      cmocka_unit_test(dlx_test::layouts_take_the_ways_that_the_files_say),
      cmocka_unit_test(dlx_test::bytes_are_exact_with_each_instruction_set),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
