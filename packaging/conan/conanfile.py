"""Holdfast for Conan 2, built from this source tree against the system's own libraries.

    conan create packaging/conan -s compiler.cppstd=20

Conan checks that the Debian packages are there; to let it install them:
    -c tools.system.package_manager:mode=install -c tools.system.package_manager:sudo=True
"""

import os
import re

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load
from conan.tools.system.package_manager import Apt

# With the Debian package that each is built with. (Redlock comes with Redis, of which it is made.)
ENGINES = {
    "redis": "libhiredis-dev",
    "memcached": None,
    "zookeeper": None,
    "etcd": "libnghttp2-dev",
    "mysql": "libmariadb-dev",
    "postgres": "libpq-dev",
}


class HoldfastRecipe(ConanFile):
    name = "holdfast"
    description = "A distributed lock with fencing tokens"
    license = "Apache-2.0"
    topics = ("lock", "mutex", "lease", "fencing")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False], "command": [True, False], **{engine: [True, False] for engine in ENGINES}}
    default_options = {"shared": False, "command": False, **{engine: True for engine in ENGINES}}

    @property
    def _root(self):
        return os.path.normpath(os.path.join(self.recipe_folder, "..", ".."))

    def set_version(self):
        header = load(self, os.path.join(self._root, "include", "holdfast", "version.h"))
        self.version = re.search(r'HOLDFAST_VERSION "(.+)"', header)[1]

    def export_sources(self):
        folders = ("cmake", "include", "src", "cli", "lab", "docs/man")
        for pattern in ("CMakeLists.txt", "LICENSE", "NOTICE", *(folder + "/*" for folder in folders)):
            copy(self, pattern, src=self._root, dst=self.export_sources_folder)

    def validate(self):
        check_min_cppstd(self, 20)

    def layout(self):
        cmake_layout(self)

    def system_requirements(self):
        packages = {"pkg-config", "libsqlite3-dev", "libssl-dev"}
        packages |= {package for engine, package in ENGINES.items() if package and getattr(self.options, engine)}
        if self.options.command:
            packages |= {"libcli11-dev", "nlohmann-json3-dev", "libboost-dev"}
        Apt(self).install(sorted(packages), update=True, check=True)

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables["HOLDFAST_BUILD_TESTS"] = False
        toolchain.cache_variables["HOLDFAST_BUILD_BENCH"] = False
        toolchain.cache_variables["HOLDFAST_BUILD_CLI"] = bool(self.options.command)
        toolchain.cache_variables["HOLDFAST_UNITY_BUILD"] = True
        for engine in ENGINES:
            toolchain.cache_variables[f"HOLDFAST_ENGINE_{engine.upper()}"] = bool(getattr(self.options, engine))
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()
        for text in ("LICENSE", "NOTICE"):
            copy(self, text, src=self.source_folder, dst=os.path.join(self.package_folder, "licenses"))

    def package_info(self):
        # find_package(holdfast) finds the files that the library installs itself.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = [os.path.join("lib", "cmake", "holdfast")]
        self.cpp_info.libs = ["holdfast"]
        if self.options.shared:
            self.cpp_info.defines = ["HOLDFAST_SHARED"]
        else:
            self.cpp_info.system_libs = ["sqlite3", "pthread", "stdc++"]
            if self.options.redis:
                self.cpp_info.system_libs.append("hiredis")
