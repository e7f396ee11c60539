// Runs a fuzz target without libFuzzer: on the files named on the command line, to replay a finding under a
// debugger, or on random input, in any build (another sanitizer, valgrind) and in several threads.
//
// -corpus=FILE: the inputs that ./dev fuzz --keep found; -seeds=FIRST-LAST: one input for each seed; -threads=N: side by side.
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <thread>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

constexpr size_t kLongest = 4096;

void run_seed(uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<uint8_t> bytes(random() % kLongest);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
  LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
}

void run_seeds(uint64_t first, uint64_t last, int threads) {
  std::atomic<uint64_t> next{first};
  const auto work = [&] {
    for (uint64_t seed; (seed = next++) <= last;) {
      const auto start = std::chrono::steady_clock::now();
      run_seed(seed);
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
      if (took.count() > 1) {
        std::printf("seed %llu took %.1f s\n", static_cast<unsigned long long>(seed), took.count());
      }
    }
  };
  std::vector<std::thread> others;
  for (int k = 1; k < threads; ++k) others.emplace_back(work);
  work();
  for (std::thread& other : others) other.join();
  std::printf("seeds %llu to %llu run in %d thread(s)\n", static_cast<unsigned long long>(first),
              static_cast<unsigned long long>(last), threads);
}

bool run_file(const char* name) {
  std::ifstream file(name, std::ios::binary);
  if (!file) {
    std::fprintf(stderr, "cannot read %s\n", name);
    return false;
  }
  const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  return true;
}

/// Runs a corpus of ./dev fuzz: a line of hexadecimal digits for each input.
bool run_corpus(const char* name) {
  std::ifstream file(name);
  int inputs = 0;
  for (std::string line; std::getline(file, line); ++inputs) {
    std::vector<uint8_t> bytes;
    for (size_t k = 0; k + 1 < line.size(); k += 2) {
      bytes.push_back(static_cast<uint8_t>(std::stoi(line.substr(k, 2), nullptr, 16)));
    }
    LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
  }
  std::printf("%d input(s) of %s run\n", inputs, name);
  return inputs > 0;
}

}  // namespace

int main(int argc, char** argv) {
  unsigned long long first = 1, last = 0;
  int threads = 1, files = 0;
  for (int i = 1; i < argc; ++i) {
    if (std::sscanf(argv[i], "-seeds=%llu-%llu", &first, &last) == 2) continue;
    if (std::sscanf(argv[i], "-threads=%d", &threads) == 1) continue;
    if (std::strncmp(argv[i], "-corpus=", 8) == 0) {
      if (!run_corpus(argv[i] + 8)) return 1;
      continue;
    }
    if (!run_file(argv[i])) return 1;
    ++files;
  }
  if (last >= first) run_seeds(first, last, threads);
  std::printf("%d file(s) run\n", files);
  return 0;
}
