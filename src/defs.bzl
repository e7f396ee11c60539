"""How every part of libdlx.so is compiled; CMakeLists.txt says the same for packagers."""

COPTS = [
    "-fvisibility=hidden",
    "-fvisibility-inlines-hidden",
    "-fno-semantic-interposition",
    # Bazel asks for frame pointers and stack protectors, which cost calls of 60 ns a tenth. Packages
    # (CMakeLists.txt) are built as their distribution wants it.
    "-fomit-frame-pointer",
    "-fno-stack-protector",
]

def dlx_library(deps = [], visibility = [], small = False):
    """The folder's one library: all its *.cc and *.h, named like the folder.

    Built for size where `small`: code that runs beside a driver's calls only.
    """
    native.cc_library(
        name = native.package_name().split("/")[-1],
        srcs = native.glob(["*.cc"]),
        hdrs = native.glob(["*.h", "*.inc"]),
        copts = COPTS + (["-Os"] if small else []),
        visibility = visibility + ["//capi:__pkg__", "//tests:__subpackages__"],
        deps = deps + ["//include:headers"],
    )
