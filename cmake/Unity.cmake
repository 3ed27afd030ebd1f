# Unity builds: files of one folder are compiled together, because headers take most of the compiler's time.
#
# A group holds files of one folder only. So two engines may each have a `Reply` in an unnamed namespace, and a
# program that brings its own copies of a folder's files (tests/sim) does not meet the library's copies.
# A target whose files get on with each other is one group: holdfast_unity_whole.
# A file that does not fit into its group says so with SKIP_UNITY_BUILD_INCLUSION.

option(HOLDFAST_UNITY_BUILD "Compile files of one folder together: headers are read less often" OFF)
set(HOLDFAST_UNITY_SIZE 10 CACHE STRING "How many files are compiled together at most")

# Clang warns of a local name that a file of the same group has, too; GCC does not.
if(HOLDFAST_UNITY_BUILD AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  target_compile_options(holdfast_compile INTERFACE -Wno-shadow)
endif()

# Gives each source of TARGET the group of its folder. The target's property HOLDFAST_UNITY_SIZE goes before the option.
function(holdfast_unity_groups target)
  get_target_property(size ${target} HOLDFAST_UNITY_SIZE)
  if(NOT size)
    set(size ${HOLDFAST_UNITY_SIZE})
  endif()
  get_target_property(root ${target} SOURCE_DIR)
  get_target_property(sources ${target} SOURCES)
  set(folders)
  foreach(source IN LISTS sources)
    if(NOT source MATCHES "^[^$]*\\.cc$")
      continue()
    endif()
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${root} NORMALIZE)
    cmake_path(GET source PARENT_PATH folder)
    cmake_path(RELATIVE_PATH folder BASE_DIRECTORY ${PROJECT_SOURCE_DIR})
    string(MAKE_C_IDENTIFIER ${folder} folder)
    list(APPEND folders ${folder})
    list(APPEND sources_of_${folder} ${source})
  endforeach()
  list(REMOVE_DUPLICATES folders)
  foreach(folder IN LISTS folders)
    # Groups of about the same size: 12 files are 6 and 6, not 10 and 2.
    list(LENGTH sources_of_${folder} count)
    math(EXPR groups "(${count} + ${size} - 1) / ${size}")
    set(at 0)
    foreach(source IN LISTS sources_of_${folder})
      math(EXPR group "${at} * ${groups} / ${count}")
      math(EXPR at "${at} + 1")
      set_source_files_properties(${source} TARGET_DIRECTORY ${target}
        PROPERTIES UNITY_GROUP ${folder}_${group})
    endforeach()
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  holdfast_unity_warnings(${target})
endfunction()

# All sources of TARGET are compiled as one, for programs whose headers cost more than their code.
function(holdfast_unity_whole target)
  if(HOLDFAST_UNITY_BUILD)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE BATCH UNITY_BUILD_BATCH_SIZE 0)
    holdfast_unity_warnings(${target})
  endif()
endfunction()

function(holdfast_unity_warnings target)
  # GCC warns of types that a header takes from an unnamed namespace; here each file is like a header.
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-subobject-linkage>)
endfunction()

# For every target that is compiled in DIRECTORY and below, but those that have chosen for themselves.
function(holdfast_unity_build directory)
  get_property(targets DIRECTORY ${directory} PROPERTY BUILDSYSTEM_TARGETS)
  foreach(target IN LISTS targets)
    get_target_property(type ${target} TYPE)
    get_target_property(chosen ${target} UNITY_BUILD)
    if(type MATCHES "^(EXECUTABLE|(STATIC|OBJECT|SHARED|MODULE)_LIBRARY)$" AND NOT chosen)
      holdfast_unity_groups(${target})
    endif()
  endforeach()
  get_property(folders DIRECTORY ${directory} PROPERTY SUBDIRECTORIES)
  foreach(folder IN LISTS folders)
    holdfast_unity_build(${folder})
  endforeach()
endfunction()
