"""Conan 2: `conan create packaging/conan`."""

import os
import re

from conan import ConanFile
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load

required_conan_version = ">=2.0"


class Dlx(ConanFile):
    name = "dlx"
    description = "Exchange tensors between array libraries and languages, on DLPack"
    license = "Apache-2.0"
    homepage = url = "https://dlx.example/dlx"
    topics = ("array", "arrow", "dlpack", "gpu", "interoperability", "tensor", "zero-copy")
    package_type = "shared-library"
    settings = ("os", "arch", "compiler", "build_type")

    @property
    def _tree(self):
        return os.path.normpath(os.path.join(self.recipe_folder, "../.."))

    def set_version(self):
        header = load(self, os.path.join(self._tree, "include/dlx/dlx.h"))
        self.version = ".".join(
            re.findall(r"define DLX_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", header)
        )

    def export_sources(self):
        names = ("CMakeLists.txt", "LICENSE", "cmake/*", "capi/*", "include/*", "src/*")
        for name in (*names, "tools/dlx_check.cc"):
            copy(self, name, self._tree, self.export_sources_folder)

    def layout(self):
        cmake_layout(self)

    def generate(self):
        CMakeToolchain(self).generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()

    def package_info(self):
        self.cpp_info.libs = ["dlx"]
        self.cpp_info.set_property("cmake_file_name", "dlx")
        self.cpp_info.set_property("cmake_target_name", "dlx::dlx")
        self.cpp_info.set_property("pkg_config_name", "dlx")
