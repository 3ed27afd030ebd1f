"""Writes the C source of holdfast._native. Usage: generate.py INCLUDE_DIRECTORY OUTPUT

The declarations are those of holdfast/c.h and calls.h themselves; the C compiler checks each of them again.
"""

import pathlib
import re
import sys

import cffi


def declarations(header: pathlib.Path) -> str:
    """The header as cffi reads C: without comments, preprocessor lines, and what is there for C++."""
    text = re.sub(r"//[^\n]*|/\*.*?\*/", "", header.read_text(), flags=re.S)
    text = re.sub(r"^[ \t]*#.*$", "", text, flags=re.M)
    body = re.sub(r'extern "C" \{(.*)\}', r"\1", text, flags=re.S)
    return body.replace("HF_API ", "")


def main() -> None:
    include, output = pathlib.Path(sys.argv[1]), sys.argv[2]
    here = pathlib.Path(__file__).parent
    ffi = cffi.FFI()
    ffi.cdef(declarations(include / "holdfast" / "c.h"))
    ffi.cdef(declarations(here / "calls.h"))
    ffi.cdef("#define HOLDFAST_C_VERSION ...\n#define HF_FOREVER ...\n#define PYHF_HELD ...\n#define PYHF_LOST ...\n")
    ffi.set_source("holdfast._native", '#include "calls.h"\n')
    ffi.emit_c_code(output)


if __name__ == "__main__":
    main()
