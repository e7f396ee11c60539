"""One file, one test: a new test_*.c or test_*.cc needs no edit of a BUILD file."""

def _tests(extension, deps, **kwargs):
    headers = native.glob(["*.h", "*.inc"])
    for src in native.glob(["test_*." + extension]):
        native.cc_test(
            name = src[:-len(extension) - 1],
            size = "small",
            srcs = [src] + headers,
            # Tests hand in structs that are shorter than their type, on purpose.
            copts = ["-Wno-array-bounds"],
            deps = deps + ["//tests:support", "//third_party:cmocka"],
            **kwargs
        )

def _fuzz_targets(deps):
    """`fuzz_*.cc` are libFuzzer targets; plain builds link a main() that replays files and runs seeds."""
    for src in native.glob(["fuzz_*.cc"]):
        native.cc_binary(
            name = src[:-3],
            testonly = True,
            srcs = [src] + native.glob(["*.h", "*.inc"]),
            deps = deps + ["//tests:support", "//tests:fuzz_main"],
            linkopts = ["-lpthread"] + select({
                # A library apart from the program finds libFuzzer's counters in it.
                "//tests:libfuzzer": ["-fsanitize=fuzzer", "-rdynamic"],
                "//conditions:default": [],
            }),
        )

def public_tests(extension):
    """Tests of the public interface: they see include/ and libdlx.so, nothing else."""
    _tests(extension, ["//:dlx"])
    _fuzz_targets(["//:dlx"])

def internal_tests(deps = [], **kwargs):
    """Tests of one folder of src/, linked statically."""
    folder = "//src/" + native.package_name().split("/")[-1]
    _tests("cc", [folder] + deps, linkstatic = True, **kwargs)
    _fuzz_targets([folder])
