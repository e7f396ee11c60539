// Times copies by several builds of libdlx.so in one process, in turns, for bench_ways.py.
//
// usage: ways ROUNDS LIBRARY[,WAY...]... < LAYOUTS
//
// Ways behind a library are left out in it, if it was built with --config=ways. A file is loaded once,
// whatever is left out: give copies of it. LAYOUTS has a line for each copy,
//
//     NAME|BYTES OF AN ITEM|SHAPE|STEPS OF DST|STEPS OF SRC|BYTES BEFORE THE FIRST ITEM OF EACH
//
// with numbers between spaces and steps in items. If NAME begins with "in place", src lies in the memory
// of dst. Prints NAME|WAY|NANOSECONDS|NANOSECONDS..., with 0 rounds NAME|DESCRIPTION|DESCRIPTION...,
// and with -1 round NAME|BLOCKS|BLOCKS...: how many basic blocks one copy ran, in a library that counts
// them (bench_thresholds.py). Nanoseconds of processor time, the best of all rounds: on a busy machine,
// those of the wall would be the others'.
#include <dlfcn.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "dlx/dlx.h"

namespace {

struct Library {
  decltype(&dlx_copy) copy;
  decltype(&dlx_copy_plan_describe) describe;
  uint64_t (*blocks)();  // or NULL
};

template <class Function>
Function function_of(void* handle, const char* name) {
  void* const found = dlsym(handle, name);
  if (found == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    std::exit(1);
  }
  return reinterpret_cast<Function>(found);
}

struct Layout {
  std::string name;
  int64_t item = 1;
  std::vector<int64_t> shape, dst_steps, src_steps, starts;

  int64_t bytes_of(const std::vector<int64_t>& steps) const {
    int64_t reach = 1;
    for (size_t k = 0; k < shape.size(); ++k) reach += (shape[k] - 1) * std::llabs(steps[k]);
    return reach * item;
  }
};

std::vector<int64_t> numbers(const std::string& text) {
  std::istringstream in(text);
  std::vector<int64_t> all;
  for (int64_t number; in >> number;) all.push_back(number);
  return all;
}

bool read_layout(Layout* layout) {
  std::string line, field[6];
  if (!std::getline(std::cin, line)) return false;
  std::istringstream in(line);
  for (std::string& text : field) std::getline(in, text, '|');
  *layout = {field[0],          std::atoll(field[1].c_str()),
             numbers(field[2]), numbers(field[3]),
             numbers(field[4]), numbers(field[5])};
  layout->starts.resize(2);
  return true;
}

/// Memory whose pages are there, at a page.
class Memory {
 public:
  char* of(int64_t bytes) {
    if (bytes > size_) {
      std::free(data_);
      size_ = (bytes + 8191) / 4096 * 4096;
      data_ = static_cast<char*>(std::aligned_alloc(4096, static_cast<size_t>(size_)));
      for (int64_t i = 0; i < size_; ++i) data_[i] = static_cast<char>(i * 2654435761u >> 11);
    }
    return data_;
  }

 private:
  char* data_ = nullptr;
  int64_t size_ = 0;
};

DLTensor tensor_of(Layout& layout, char* data, std::vector<int64_t>& steps) {
  DLTensor tensor = {};
  for (size_t k = 0; k < layout.shape.size(); ++k) {
    if (steps[k] < 0) data -= (layout.shape[k] - 1) * steps[k] * layout.item;
  }
  tensor.data = data;
  tensor.device = {kDLCPU, 0};
  tensor.ndim = static_cast<int32_t>(layout.shape.size());
  tensor.dtype = {kDLUInt, 8, static_cast<uint16_t>(layout.item)};
  tensor.shape = layout.shape.data();
  tensor.strides = steps.data();
  return tensor;
}

int64_t now() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return time.tv_sec * 1000000000 + time.tv_nsec;
}

double time_of(const Library& library, const DLTensor& dst, const DLTensor& src, int64_t repeat) {
  const int64_t start = now();
  for (int64_t i = 0; i < repeat; ++i) library.copy(&dst, &src, nullptr);
  return static_cast<double>(now() - start) / static_cast<double>(repeat);
}

std::string description(const Library& library, const DLTensor& dst, const DLTensor& src) {
  char text[4096];
  library.describe(&dst, &src, text, sizeof text);
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = std::atoi(argv[1]);
  std::vector<Library> libraries;
  for (int i = 2; i < argc; ++i) {
    std::string path = argv[i];
    const size_t comma = std::min(path.find(','), path.size());
    setenv("DLX_COPY_WITHOUT", path.substr(std::min(comma + 1, path.size())).c_str(), 1);
    path.resize(comma);
    void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
      std::fprintf(stderr, "%s\n", dlerror());
      return 1;
    }
    libraries.push_back(
        {function_of<decltype(&dlx_copy)>(handle, "dlx_copy"),
         function_of<decltype(&dlx_copy_plan_describe)>(handle, "dlx_copy_plan_describe"),
         reinterpret_cast<uint64_t (*)()>(dlsym(handle, "dlx_blocks"))});
    function_of<decltype(&dlx_set_num_threads)>(handle, "dlx_set_num_threads")(1);
    int64_t shape[] = {1 << 12, 1 << 12}, steps[] = {1, 1 << 12}, compact[] = {1 << 12, 1};
    const DLTensor to = {reinterpret_cast<void*>(uintptr_t{1} << 40),
                         {kDLCPU, 0},
                         2,
                         {kDLUInt, 8, 4},
                         shape,
                         compact,
                         0};
    DLTensor from = to;
    from.strides = steps;
    from.data = reinterpret_cast<void*>(uintptr_t{1} << 41);
    description(libraries.back(), to, from);  // what is left out is read now
  }
  Memory to, from;
  Layout layout;
  while (read_layout(&layout)) {
    const int64_t src_bytes = layout.bytes_of(layout.src_steps) + layout.starts[1] + 4096;
    const bool in_place = layout.name.compare(0, 8, "in place") == 0;
    const int64_t dst_bytes = layout.bytes_of(layout.dst_steps) + 4096 + (in_place ? src_bytes : 0);
    char* dst_data = reinterpret_cast<char*>(uintptr_t{1} << 40);
    char* src_data = in_place ? dst_data : dst_data + (uintptr_t{1} << 40);
    if (rounds != 0) {  // descriptions read no data
      dst_data = to.of(dst_bytes);
      src_data = in_place ? dst_data : from.of(src_bytes);
    }
    dst_data += layout.starts[0];
    src_data += layout.starts[1];
    const DLTensor dst = tensor_of(layout, dst_data, layout.dst_steps);
    const DLTensor src = tensor_of(layout, src_data, layout.src_steps);
    std::printf("%s", layout.name.c_str());
    if (rounds <= 0) {
      for (const Library& library : libraries) {
        if (rounds == 0) {
          std::printf("|%s", description(library, dst, src).c_str());
        } else {
          const uint64_t before = library.blocks();
          library.copy(&dst, &src, nullptr);
          std::printf("|%llu", static_cast<unsigned long long>(library.blocks() - before));
        }
      }
      std::printf("\n");
      continue;
    }
    const std::string text = description(libraries[0], dst, src);
    const size_t way = text.find("; way ");
    std::printf("|%s", way == text.npos
                           ? "?"
                           : text.substr(way + 6, text.find(':', way) - way - 6).c_str());
    const double once = time_of(libraries[0], dst, src, 1);
    const int64_t repeat = std::max<int64_t>(1, static_cast<int64_t>(3e5 / (once + 1)));
    std::vector<double> best(libraries.size(), 1e18);
    for (int round = 0; round < rounds; ++round) {
      for (size_t i = 0; i < libraries.size(); ++i) {
        const size_t k = (i + static_cast<size_t>(round)) % libraries.size();
        best[k] = std::min(best[k], time_of(libraries[k], dst, src, repeat));
      }
    }
    for (const double nanoseconds : best) std::printf("|%.2f", nanoseconds);
    std::printf("\n");
    std::fflush(stdout);
  }
}
