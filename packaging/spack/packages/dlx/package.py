"""Spack: `spack repo add packaging/spack && spack install dlx`."""

from spack.package import *


class Dlx(CMakePackage):
    """Exchange tensors between array libraries and languages, on DLPack."""

    homepage = "https://dlx.example/docs/"
    git = "https://dlx.example/dlx"

    license("Apache-2.0")

    version("main", branch="main")
    version("0.1.0", tag="v0.1.0")

    depends_on("cxx", type="build")
    depends_on("cmake@3.18:", type="build")

    requires("%gcc@9:", "%clang@11:", policy="one_of", msg="dlx needs a compiler of C++17")
