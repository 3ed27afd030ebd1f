# Toolchain: the GCC 14 of Debian 13, with its headers and libraries, which `scripts/check compilers` unpacks.
cmake_path(SET root NORMALIZE "${CMAKE_CURRENT_LIST_DIR}/../build/compilers/trixie")
set(CMAKE_SYSROOT ${root})
set(CMAKE_CXX_COMPILER ${root}/usr/bin/g++-14)
set(CMAKE_C_COMPILER ${root}/usr/bin/gcc-14)  # of programs that test the C interface
set(CMAKE_CXX_FLAGS_INIT "-B${root}/usr/bin")  # its own assembler and linker
set(CMAKE_C_FLAGS_INIT "-B${root}/usr/bin")
# Programs are those of this machine.
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
foreach(kind LIBRARY INCLUDE PACKAGE)
  set(CMAKE_FIND_ROOT_PATH_MODE_${kind} ONLY)
endforeach()
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${root})
set(ENV{PKG_CONFIG_LIBDIR} ${root}/usr/lib/x86_64-linux-gnu/pkgconfig:${root}/usr/share/pkgconfig)
