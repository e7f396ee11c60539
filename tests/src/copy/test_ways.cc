// Compares the way that each of many layouts takes, on each kind of machine, with ways.golden,
// which records the last intended choice. The choice needs no data and runs no kernel.
//
//     bazel-bin/tests/src/copy/test_ways --write tests/src/copy/ways.golden
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "layouts.h"
#include "src/copy/schedule/machine.h"
#include "src/copy/threads/threads.h"
#include "src/copy/ways/way.h"

namespace {

using dlx_test::description_of;
using dlx_test::Layout;

#if defined(__x86_64__)
constexpr int kRandom = 10000;
constexpr int kBlock = 100;

struct Model {
  std::string name;
  dlx::Machine machine;
};

std::vector<Model> models() {
  std::vector<Model> all;
  for (const dlx::Kernels* set : {&dlx::kKernelsBase, &dlx::kKernelsAvx2, &dlx::kKernelsAvx512}) {
    for (const int64_t kib : {512, 1024, 2048}) {
      all.push_back({std::string(set->name) + " " + std::to_string(kib),
                     dlx::Machine(*set, (kib << 10) / dlx::Machine::kSetBytes)});
    }
  }
  return all;
}

/// The description of a layout on a machine, without its name and the number of threads.
std::string said_by(const Model& model, const Layout& layout) {
  dlx::machine() = model.machine;
  std::string text = description_of(layout);
  const std::string name = std::string(", ") + model.machine.kernels->name;
  const size_t at = text.find(name + ";");
  if (at != text.npos) text.erase(at, name.size());
  const size_t threads = text.rfind("; ");
  if (threads != text.npos && text.find(" thread", threads) != text.npos) text.resize(threads);
  return text;
}

std::string way_in(const std::string& text) {
  const size_t at = text.find("; way ");
  if (at == text.npos) return text;
  return text.substr(at + 6, text.find(':', at) - at - 6);
}

/// The text of ways.golden. `ways_out` gets each way that some machine takes for some layout.
std::string golden(std::set<std::string>* ways_out = nullptr) {
  const std::vector<Model> machines = models();
  std::ostringstream out;
  out << "# Written by test_ways --write. Second-level caches in KiB.\n";
  for (const Layout& layout : dlx_test::named_layouts()) {
    std::map<std::string, std::string> who;
    std::vector<std::string> order;
    for (const Model& model : machines) {
      const std::string text = said_by(model, layout);
      if (who[text].empty()) order.push_back(text);
      who[text] += (who[text].empty() ? "" : ", ") + model.name;
    }
    out << "\n" << layout.name << "\n";
    for (const std::string& text : order) out << "  " << who[text] << ": " << text << "\n";
  }
  std::vector<std::map<std::string, int>> counts(machines.size());
  std::set<std::string> ways;
  std::ostringstream hashes;
  dlx_test::RandomLayouts layouts(1);
  for (int block = 0; block < kRandom / kBlock; ++block) {
    std::vector<uint32_t> hash(machines.size(), 2166136261u);
    for (int i = 0; i < kBlock; ++i) {
      const Layout layout = layouts.next();
      dlx::set_num_threads(i % 2 == 0 ? 1 : 4);
      for (size_t m = 0; m < machines.size(); ++m) {
        const std::string text = said_by(machines[m], layout);
        for (const char c : text) hash[m] = (hash[m] ^ static_cast<uint8_t>(c)) * 16777619u;
        ++counts[m][way_in(text)];
        ways.insert(way_in(text));
      }
    }
    hashes << block * kBlock << ":";
    char text[16];
    for (const uint32_t value : hash) {
      std::snprintf(text, sizeof text, " %08" PRIx32, value);
      hashes << text;
    }
    hashes << "\n";
  }
  out << "\nOf " << kRandom << " random layouts, by machine:\n";
  for (const Model& model : machines) out << " " << model.name << ";";
  out << "\n";
  for (const std::string& way : ways) {
    out << way << ":";
    for (std::map<std::string, int>& count : counts) out << " " << count[way];
    out << "\n";
  }
  if (ways_out != nullptr) *ways_out = ways;
  out << "\nTheir descriptions, " << kBlock << " to a line, by machine:\n" << hashes.str();
  return out.str();
}

void ways_are_as_recorded(void**) {
  const dlx::Machine before = dlx::machine();
  std::ifstream file("tests/src/copy/ways.golden");
  std::ostringstream recorded;
  recorded << file.rdbuf();

  std::set<std::string> taken;
  const std::string now = golden(&taken);

  dlx::machine() = before;
  std::istringstream then_lines(recorded.str()), now_lines(now);
  std::string then_line, now_line;
  int differing = 0;
  while (std::getline(now_lines, now_line)) {
    if (!std::getline(then_lines, then_line)) then_line = "(nothing)";
    if (then_line == now_line || ++differing > 20) continue;
    print_message("was: %s\nnow: %s\n", then_line.c_str(), now_line.c_str());
  }
  assert_int_equal(differing, 0);
  const auto is_taken = [](const dlx::Way& way, void* data) {
    if (static_cast<std::set<std::string>*>(data)->count(way.name) == 1) return;
    print_message("no machine takes %s\n", way.name);
    assert_true(false);
  };
  dlx::each_way(true, is_taken, &taken);
  dlx::each_way(false, is_taken, &taken);
  assert_true(now == recorded.str());
}

#else

void ways_are_as_recorded(void**) { skip(); }

#endif

}  // namespace

int main(int argc, char** argv) {
#if defined(__x86_64__)
  if (argc > 2 && std::strcmp(argv[1], "--write") == 0) {
    std::ofstream(argv[2]) << golden();
    return 0;
  }
#else
  (void)argc, (void)argv;
#endif
  const CMUnitTest tests[] = {
      cmocka_unit_test(ways_are_as_recorded),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
