# holdfast_embed(TARGET FILE…): the files become part of the program, found by find_file() (files.h) by their paths here.
function(holdfast_embed target)
  set(table)
  set(bytes)
  set(index 0)
  foreach(file IN LISTS ARGN)
    cmake_path(ABSOLUTE_PATH file BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}/serve OUTPUT_VARIABLE path)
    cmake_path(GET file EXTENSION LAST_ONLY extension)
    set(type_of_.html "text/html; charset=utf-8")
    set(type_of_.js "text/javascript; charset=utf-8")
    set(type_of_.css "text/css; charset=utf-8")
    set(type_of_.svg "image/svg+xml")
    set(type_of_.json "application/json")
    set(name holdfast_file_${index})
    # The assembler reads the file; a zero byte ends it, so that an empty one has an address too.
    string(APPEND bytes "asm(\".section .rodata\\n${name}: .incbin \\\"${path}\\\"\\n${name}_end: .byte 0\\n.previous\\n\");\n"
      "extern \"C\" const char ${name}[], ${name}_end[];\n")
    string(APPEND table "    {\"${file}\", \"${type_of_${extension}}\", {${name}, static_cast<std::size_t>(${name}_end - ${name})}},\n")
    math(EXPR index "${index} + 1")
    list(APPEND paths ${path})
  endforeach()
  set(generated ${CMAKE_CURRENT_BINARY_DIR}/serve_files.cc)
  file(CONFIGURE OUTPUT ${generated} @ONLY CONTENT [[
#include "serve/files.h"

@bytes@
namespace holdfast::cli::serve {

const File* find_file(std::string_view path) {
  static const File files[] = {
@table@  };
  for (const File& file : files) {
    if (file.path == path) return &file;
  }
  return nullptr;
}

}  // namespace holdfast::cli::serve
]])
  set_source_files_properties(${generated} PROPERTIES OBJECT_DEPENDS "${paths}" SKIP_UNITY_BUILD_INCLUSION ON
    SKIP_PRECOMPILE_HEADERS ON)
  target_sources(${target} PRIVATE ${generated})
endfunction()
