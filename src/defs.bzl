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

# No exception passes through these functions, so that they need no tables for one.
NO_TABLES = ["-fno-exceptions", "-fno-asynchronous-unwind-tables"]

def dlx_library(deps = [], visibility = [], small = False, leaves = []):
    """The folder's one library: all its *.cc and *.h, named like the folder.

    Built for size where `small`: code that runs beside a driver's calls only. `leaves`: files whose
    functions throw nothing, nor call what does.
    """
    name = native.package_name().split("/")[-1]
    hdrs = native.glob(["*.h", "*.inc"])
    copts = COPTS + (["-Os"] if small else [])
    deps = deps + ["//include:headers"]
    if leaves:
        native.cc_library(
            name = name + "_leaves",
            srcs = leaves,
            hdrs = hdrs,
            copts = copts + NO_TABLES,
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
