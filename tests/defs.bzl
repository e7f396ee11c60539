"""One file, one test: a new test_*.c or test_*.cc needs no change of a BUILD file."""

load("//src:flags.bzl", "CXX_STANDARD", "DEFINES", "WARNINGS")

_COPTS = WARNINGS + ["-D" + name for name in DEFINES]

# The `copts` of every C and C++ target in tests and benchmarks.
C_COPTS = ["-std=c11"] + _COPTS
CC_COPTS = ["-std=c++" + CXX_STANDARD[0]] + _COPTS

def _tests(extension, deps, no_tsan = [], **kwargs):
    headers = native.glob(["*.h", "*.inc"])
    for src in native.glob(["test_*." + extension]):
        native.cc_test(
            name = src[:-len(extension) - 1],
            size = "small",
            srcs = [src] + headers,
            # Tests pass structs that are shorter than their type, on purpose.
            copts = (C_COPTS if extension == "c" else CC_COPTS) + ["-Wno-array-bounds"],
            deps = deps + ["//tests:support", "//third_party:cmocka"],
            tags = ["no-tsan"] if src[:-len(extension) - 1] in no_tsan else [],
            **kwargs
        )

def _fuzz_program(name, src, deps, copts = [], **kwargs):
    native.cc_binary(
        name = name,
        testonly = True,
        srcs = [src] + native.glob(["*.h", "*.inc"]),
        copts = CC_COPTS + copts,
        deps = deps + ["//tests:support", "//tests:fuzz_main"],
        linkopts = ["-lpthread", "-ldl"] + select({
            # A shared library looks for libFuzzer's counters in the program.
            "//tests:libfuzzer": ["-fsanitize=fuzzer", "-rdynamic"],
            "//conditions:default": [],
        }),
        **kwargs
    )

def embedded_fuzz_targets():
    """`fuzz_*.py` are harnesses for a libFuzzer target that embeds CPython."""
    for src in native.glob(["fuzz_*.py"]):
        _fuzz_program(src[:-3], "embed.cc", ["//:dlx"], ['-DDLX_HARNESS=\\"%s\\"' % src[:-3]], data = [src])

def fuzz_targets(deps, data = []):
    """`fuzz_*.cc` are libFuzzer targets. Other builds link a main() that replays files and runs seeds.

    `replay_fuzz_x` runs the inputs of fuzz_x.corpus, which ./dev fuzz --keep finds.

    Args:
      deps: libraries.
      data: files that they load.
    """
    for src in native.glob(["fuzz_*.cc"]):
        _fuzz_program(src[:-3], src, deps, data = data)
        corpus = src[:-3] + ".corpus"
        if native.glob([corpus]):
            native.sh_test(
                name = "replay_" + src[:-3],
                size = "small",
                srcs = ["//tests:replay.sh"],
                args = ["$(rootpath :%s)" % src[:-3], "$(rootpath %s)" % corpus],
                data = [":" + src[:-3], corpus],
            )

def public_tests(extension, **kwargs):
    """Tests of the public interface: they see include/ and libdlx.so, nothing else."""
    _tests(extension, ["//:dlx"], **kwargs)
    fuzz_targets(["//:dlx"])

def internal_tests(deps = [], **kwargs):
    """Tests of one folder: tests/src/x tests //src/x, linked statically.

    Args:
      deps: further libraries.
      **kwargs: of cc_test; and `no_tsan`, the tests of what never runs on several threads.
    """
    folder = "//" + native.package_name()[len("tests/"):]
    _tests("cc", [folder] + deps, linkstatic = True, **kwargs)
    fuzz_targets([folder])
