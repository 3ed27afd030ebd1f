# Warnings and sanitizers for our own targets, never for a consumer's.
add_library(holdfast_compile INTERFACE)
target_compile_options(holdfast_compile INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Wnon-virtual-dtor
  # Designated initialisers leave the rest to its defaults on purpose.
  -Wno-missing-field-initializers)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # GCC 12 sees overlapping copies in `"text" + std::string`, and copies beyond their end in an
  # std::string moved into a coroutine's frame, where there are none.
  target_compile_options(holdfast_compile INTERFACE -Wno-restrict -Wno-array-bounds
    -Wno-stringop-overflow -Wno-stringop-overread)
endif()
if(HOLDFAST_SANITIZE)
  target_compile_options(holdfast_compile INTERFACE
    -fsanitize=${HOLDFAST_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(holdfast_compile INTERFACE -fsanitize=${HOLDFAST_SANITIZE})
endif()
