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

def public_tests(extension):
    """Tests of the public interface: they see include/ and libdlx.so, nothing else."""
    _tests(extension, ["//:dlx"])

def internal_tests(deps = [], **kwargs):
    """Tests of one folder of src/, linked statically; `fuzz_*.cc` are libFuzzer targets."""
    folder = "//src/" + native.package_name().split("/")[-1]
    _tests("cc", [folder] + deps, linkstatic = True, **kwargs)
    for src in native.glob(["fuzz_*.cc"]):
        native.cc_binary(
            name = src[:-3],
            testonly = True,
            srcs = [src] + native.glob(["*.h", "*.inc"]),
            # Plain builds compile and link it too, with a main() that replays files.
            deps = [folder, "//tests:support", "//tests:fuzz_main"],
            linkopts = select({
                "//tests:libfuzzer": ["-fsanitize=fuzzer"],
                "//conditions:default": [],
            }),
        )
