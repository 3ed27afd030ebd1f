#!/usr/bin/env python3
"""What the recipes of other package managers say agrees with the build: versions, options, Debian packages.

Usage: recipes.py SOURCE_DIR VERSION
"""

import json
import pathlib
import re
import sys

source, version = pathlib.Path(sys.argv[1]), sys.argv[2]
problems = []


def expect(condition: bool, problem: str) -> None:
    if not condition:
        problems.append(problem)


def text(path: str) -> str:
    return (source / path).read_text()


# The engines, as the build names them.
engines = set(re.findall(r"^holdfast_engine\((\w+)", text("src/CMakeLists.txt"), re.M))
expect(len(engines) >= 7, f"only these engines were found in src/CMakeLists.txt: {engines}")

port = json.loads(text("packaging/vcpkg/ports/holdfast/vcpkg.json"))
expect(port["version"] == version, f"vcpkg.json has version {port['version']}")
options = dict(re.findall(r"^    \w+ (HOLDFAST_ENGINE_(\w+))\)?$", text("packaging/vcpkg/ports/holdfast/portfile.cmake"), re.M))
expect({name.lower() for name in options.values()} == engines, f"portfile.cmake sets {sorted(options)}")
# Redlock is made of Redis, and comes with it.
features = set(port["features"])
expect(features == engines - {"redlock"} | {"command"}, f"vcpkg.json has the features {sorted(features)}")
expect(set(port["default-features"]) == features - {"command"}, "vcpkg.json: default-features are not all engines")

conan = text("packaging/conan/conanfile.py")
table = conan[conan.index("ENGINES = {") : conan.index("}", conan.index("ENGINES = {"))]
expect(set(re.findall(r'"(\w+)": ', table)) == engines - {"redlock"}, "conanfile.py has other engines")

lib = text("scripts/lib.sh")
known = set()
for name in ("BUILD", "PACKAGING"):
    found = re.search(rf"^{name}_PACKAGES=\(([^)]*)\)", lib, re.M)
    known |= set(found[1].split()) if found else set()
build = set(re.search(r"^BUILD_PACKAGES=\(([^)]*)\)", lib, re.M)[1].split())  # type: ignore[index]
stage = text("packaging/Containerfile").split("\nFROM ")[1]
installed = set(re.findall(r"(?<= )(?:g\+\+|[a-z][a-z0-9.+-]*-dev|cmake|ninja-build|pkg-config|dpkg-dev|file)(?= |$)", stage, re.M))
expect(installed <= known, f"Containerfile installs what the build does not name: {sorted(installed - known)}")
missing = build - installed - {"libgtest-dev", "libgmock-dev"}
expect(not missing, f"Containerfile lacks {sorted(missing)}")
conan_packages = set(re.findall(r'"([a-z0-9-]+-dev|pkg-config)"', conan))
expect(conan_packages <= build, f"conanfile.py needs what the build does not name: {sorted(conan_packages - build)}")

python = re.search(r'^version = "(.*)"', text("bindings/python/pyproject.toml"), re.M)
expect(python is not None and python[1] == version, "bindings/python/pyproject.toml has another version")

for problem in problems:
    print("FAILED:", problem)
sys.exit(1 if problems else 0)
