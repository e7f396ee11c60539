"""The flags of libdlx.so, for Bazel and for CMake: CMakeLists.txt takes the quoted words of each list."""

CXX_STANDARD = ["17"]

WARNINGS = ["-Wall", "-Wextra"]

# Our own declaration of DLPack, even if the system has the official header.
DEFINES = ["DLX_DLPACK_OWN"]

COMPILE = [
    "-fvisibility=hidden",
    "-fvisibility-inlines-hidden",
    "-ffunction-sections",
    "-fdata-sections",
    # A function begins with a line of the cache. Otherwise a change anywhere moves it, and calls of 100 ns
    # become a tenth slower or faster.
    "-falign-functions=64",
]

# Only where libraries have the format ELF; Bazel builds for no other.
COMPILE_ELF = ["-fno-semantic-interposition"]

# For files whose functions neither throw nor call a function that throws (`leaves` in a BUILD file): no
# exception tables.
LEAVES = ["-fno-exceptions", "-fno-asynchronous-unwind-tables"]

# For folders with `small = True` in their BUILD file.
SMALL = ["-Os"]

# nodelete: deleters that other libraries hold must stay callable after dlclose().
LINK = [
    "-Wl,--gc-sections",
    "-Wl,-z,relro",
    "-Wl,-z,now",
    "-Wl,-z,nodelete",
]

# Code and constants share pages, which saves two pages. Zig's linker lacks this option.
JOIN_PAGES = ["-Wl,-z,noseparate-code"]
