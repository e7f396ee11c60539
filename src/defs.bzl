"""How Bazel compiles the parts of libdlx.so: the lists of flags.bzl stand on each target."""

load(":flags.bzl", "COMPILE", "COMPILE_ELF", "CXX_STANDARD", "DEFINES", "LEAVES", "SMALL", "WARNINGS")

COPTS = ["-std=c++" + CXX_STANDARD[0]] + WARNINGS + ["-D" + name for name in DEFINES] + COMPILE + COMPILE_ELF + [
    # Bazel's own defaults are the opposite, and make a call of 60 ns 10 % slower. CMake leaves these two
    # to the packager.
    "-fomit-frame-pointer",
    "-fno-stack-protector",
]

def dlx_library(deps = [], visibility = [], small = False, leaves = []):
    """The one library of a folder: its *.cc and *.h, under the folder's name.

    CMakeLists.txt reads `small` and `leaves` from the BUILD files; flags.bzl says what they do. Write them as
    `small = True` and as a list of file names.

    Args:
      deps: the libraries whose headers the folder includes.
      visibility: the packages that may depend on the folder, besides capi and tests.
      small: optimize for size. For code that runs only beside calls of a driver.
      leaves: files whose functions neither throw nor call a function that throws.
    """
    name = native.package_name().split("/")[-1]
    hdrs = native.glob(["*.h", "*.inc"])
    copts = COPTS + (SMALL if small else [])
    deps = deps + ["//include:headers"]
    if leaves:
        native.cc_library(
            name = name + "_leaves",
            srcs = leaves,
            hdrs = hdrs,
            copts = copts + LEAVES,
            deps = deps,
        )
        deps = deps + [name + "_leaves"]
    native.cc_library(
        name = name,
        srcs = native.glob(["*.cc"], exclude = leaves),
        hdrs = hdrs,
        copts = copts,
        visibility = visibility + ["//capi:__pkg__", "//tests:__subpackages__"],
        deps = deps,
    )
