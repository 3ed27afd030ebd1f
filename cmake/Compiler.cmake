# Warnings and sanitizers for our own targets, never for a consumer's.
add_library(holdfast_compile INTERFACE)
target_compile_options(holdfast_compile INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Wnon-virtual-dtor
  # Designated initialisers leave the rest to its defaults on purpose.
  -Wno-missing-field-initializers)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # GCC 12 sees overlapping copies in `"text" + std::string`, and copies beyond their end in an
  # std::string moved into a coroutine's frame, where there are none.
  target_compile_options(holdfast_compile INTERFACE -Wno-restrict -Wno-stringop-overflow -Wno-stringop-overread)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC 12 and 14 see copies beyond the end of a temporary std::string in `text + "text"`, where there are none.
  target_compile_options(holdfast_compile INTERFACE -Wno-array-bounds)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # libstdc++ 12 calls a deprecated function of its own in std::stable_sort. (GCC warns of other uses.)
  target_compile_options(holdfast_compile INTERFACE -Wno-deprecated-declarations)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC looks for garbage in its own memory from 128 MB on at most, in kilobytes. We give it more memory for less time.
  add_compile_options(--param=ggc-min-heapsize=409600)
endif()

# TARGET, a static library, is linked into programs alone and compiled as they are: they can share a precompiled header.
function(holdfast_part_of_programs target)
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(${target} PRIVATE -fPIE)
endfunction()

if(HOLDFAST_SANITIZE)
  target_compile_options(holdfast_compile INTERFACE
    -fsanitize=${HOLDFAST_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(holdfast_compile INTERFACE -fsanitize=${HOLDFAST_SANITIZE})
endif()
