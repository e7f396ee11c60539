// Modules and launches. The fakes run no machine code: they read a kernel's parameters as a device
// would, and do what src/gpu/strided_copy.h defines.
#include <elf.h>

#include <cstring>

#include "src/gpu/strided_copy.h"
#include "tests/stubs/engine.h"

namespace fake {
namespace {

/// EF_AMDGPU_MACH of the architectures that tests name.
struct Machine {
  const char* arch;
  unsigned number;
};
constexpr Machine kMachines[] = {
    {"gfx900", 0x2c},  {"gfx906", 0x2f},  {"gfx908", 0x30},  {"gfx90a", 0x3f},  {"gfx940", 0x40},
    {"gfx942", 0x4c},  {"gfx950", 0x4f},  {"gfx1010", 0x33}, {"gfx1030", 0x36}, {"gfx1100", 0x41},
    {"gfx1101", 0x46}, {"gfx1102", 0x47}, {"gfx1200", 0x48}, {"gfx1201", 0x4e}};

/// The number of the device's architecture; 0 if it is none of the above.
unsigned machine_number() {
  const std::string& arch = engine().arch;
  const std::string name = arch.substr(0, arch.find(':'));
  for (const Machine& machine : kMachines) {
    if (name == machine.arch) return machine.number;
  }
  return 0;
}

int read_elf(const char* image, std::string* out) {
  Elf64_Ehdr header;
  std::memcpy(&header, image, sizeof header);
  if (header.e_machine != 224) return kInvalidImage;  // EM_AMDGPU
  if ((header.e_flags & 0xffu) != machine_number()) return kNoBinary;
  *out = std::string(image, header.e_shoff + size_t{header.e_shentsize} * header.e_shnum);
  return kOk;
}

/// The position of the parameters of a PTX entry, after "NAME("; npos if there is no such entry.
size_t find_entry(const std::string& ptx, const std::string& name) {
  for (size_t at = 0; (at = ptx.find(".entry", at)) != std::string::npos; ++at) {
    const size_t begin = ptx.find_first_not_of(" \t\n", at + 6);
    if (begin == std::string::npos || ptx.compare(begin, name.size(), name) != 0) continue;
    const size_t end = ptx.find_first_not_of(" \t\n", begin + name.size());
    if (end != std::string::npos && ptx[end] == '(') return end + 1;
  }
  return std::string::npos;
}

bool is_elf(const std::string& image) { return image.compare(0, 4, ELFMAG) == 0; }

/// Size of the parameters of a PTX entry: 8 + 8 + the struct.
bool takes_a_strided_copy(const std::string& ptx, size_t parameters) {
  const std::string list = ptx.substr(parameters, ptx.find(')', parameters) - parameters);
  return list.find("[" + std::to_string(sizeof(dlx_strided_copy)) + "]") != std::string::npos;
}

struct Span {
  int64_t low = 0, high = 0;  ///< bytes that are touched: [low, high)
};

Span span_of(const dlx_strided_copy& copy, int64_t first, const dlx_int64* steps) {
  Span span{first, first + copy.item};
  for (dlx_uint32 k = 0; k < copy.axes; ++k) {
    const int64_t reach = (copy.extent[k] - 1) * steps[k];
    (reach < 0 ? span.low : span.high) += reach;
  }
  return span;
}

/// Whether kernels in `context` can access the memory.
bool may_use(const Context* context, const Allocation* allocation) {
  if (allocation == nullptr) return false;  // memory of the CPU
  if (!is_device_only(allocation) || allocation->context->device == context->device) return true;
  if (allocation->pool != nullptr) return allocation->pool->accessors.count(context->device) != 0;
  return context->peers.count(allocation->context) != 0;
}

int execute(Context* context, uint64_t dst, uint64_t src, const dlx_strided_copy& copy) {
  if (copy.axes > DLX_STRIDED_COPY_AXES) return kLaunchFailed;
  for (dlx_uint32 k = 0; k < copy.axes; ++k) {
    if (copy.extent[k] <= 0) return kOk;
  }
  const Span to = span_of(copy, copy.dst, copy.dst_step);
  const Span from = span_of(copy, copy.src, copy.src_step);
  const Reach dst_memory(dst + static_cast<uint64_t>(to.low),
                         static_cast<size_t>(to.high - to.low));
  const Reach src_memory(src + static_cast<uint64_t>(from.low),
                         static_cast<size_t>(from.high - from.low));
  if (dst_memory.error() != kOk || src_memory.error() != kOk ||
      !may_use(context, dst_memory.allocation()) || !may_use(context, src_memory.allocation())) {
    return kIllegalAddress;
  }
  char* const dst_first = dst_memory.data() + (copy.dst - to.low);
  const char* const src_first = src_memory.data() + (copy.src - from.low);
  int64_t index[DLX_STRIDED_COPY_AXES] = {};
  for (;;) {
    int64_t dst_at = 0, src_at = 0;
    for (dlx_uint32 k = 0; k < copy.axes; ++k) {
      dst_at += index[k] * copy.dst_step[k];
      src_at += index[k] * copy.src_step[k];
    }
    std::memcpy(dst_first + dst_at, src_first + src_at, copy.item);
    dlx_uint32 k = copy.axes;
    while (k > 0 && ++index[k - 1] == copy.extent[k - 1]) index[--k] = 0;
    if (k == 0) return kOk;
  }
}

/// The arguments of a launch: two addresses and the struct, copied at the launch.
struct Parameters {
  uint64_t dst, src;
  dlx_strided_copy copy;
};

int read_parameters(void** parameters, void** extra, Parameters* out) {
  if (parameters != nullptr) {
    std::memcpy(&out->dst, parameters[0], sizeof out->dst);
    std::memcpy(&out->src, parameters[1], sizeof out->src);
    std::memcpy(&out->copy, parameters[2], sizeof out->copy);
    return kOk;
  }
  // {1, buffer, 2, &size, end}: the parameters in the layout of the kernel's parameter list.
  if (extra == nullptr || extra[0] != reinterpret_cast<void*>(1) ||
      extra[2] != reinterpret_cast<void*>(2)) {
    return kInvalidValue;
  }
  if (*static_cast<const size_t*>(extra[3]) != sizeof *out) return kInvalidValue;
  std::memcpy(out, extra[1], sizeof *out);
  return kOk;
}

}  // namespace

int module_load(Context* context, const void* image, Module** out) {
  const char* text = static_cast<const char*>(image);
  std::string content;
  if (std::memcmp(text, ELFMAG, 4) == 0) {
    if (const int error = read_elf(text, &content); error != kOk) return error;
  } else {
    content = text;
    if (content.find(".version") == std::string::npos) return kInvalidImage;
  }
  *out = engine().add<Module>();
  (*out)->context = context;
  (*out)->image = std::move(content);
  return kOk;
}

int module_unload(Module* module) {
  module->alive = false;
  for (const auto& object : engine().objects) {
    auto* function = dynamic_cast<Function*>(object.get());
    if (function != nullptr && function->module == module) function->alive = false;
  }
  return kOk;
}

int module_function(Module* module, const char* name, Function** out) {
  const bool found = is_elf(module->image)
                         // In the string table, with the final zero.
                         ? module->image.find(std::string(name) + '\0') != std::string::npos
                         : find_entry(module->image, name) != std::string::npos;
  if (!found) return kNotFound;
  *out = engine().add<Function>();
  (*out)->module = module;
  (*out)->name = name;
  return kOk;
}

int launch(Function* function, Context* current, Stream* stream, const unsigned* groups,
           const unsigned* group_size, void** parameters, void** extra) {
  // Unlike a copy, a launch requires that the context of its stream is current.
  if (function->module->context != current || stream->context != current) return kInvalidHandle;
  const uint64_t limits[2][3] = {{0x7fffffff, 65535, 65535}, {1024, 1024, 64}};
  for (int k = 0; k < 3; ++k) {
    if (groups[k] == 0 || groups[k] > limits[0][k]) return kInvalidValue;
    if (group_size[k] == 0 || group_size[k] > limits[1][k]) return kInvalidValue;
  }
  if (uint64_t{group_size[0]} * group_size[1] * group_size[2] > 1024) return kInvalidValue;
  const std::string& image = function->module->image;
  if (!is_elf(image) && !takes_a_strided_copy(image, find_entry(image, function->name))) {
    die("kernel %s does not take a dlx_strided_copy of %zu bytes", function->name.c_str(),
        sizeof(dlx_strided_copy));
  }
  Parameters taken;
  if (const int error = read_parameters(parameters, extra, &taken); error != kOk) return error;
  const auto first = [](uint64_t base, dlx_int64 offset) {
    return base + static_cast<uint64_t>(offset);
  };
  return submit(stream,
                [current, taken] { return execute(current, taken.dst, taken.src, taken.copy); },
                {first(taken.dst, taken.copy.dst), first(taken.src, taken.copy.src)});
}

}  // namespace fake
