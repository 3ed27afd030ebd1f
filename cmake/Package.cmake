# Installation, the CMake and pkg-config packages, and the .deb.
#
#   component  Debian package     holds
#   command    holdfast           the command, its man page and completions, units and examples of jobs
#   runtime    libholdfast0.1     the shared library (only with BUILD_SHARED_LIBS)
#   develop    libholdfast-dev    headers, library, holdfastConfig.cmake, holdfast.pc
include(CMakePackageConfigHelpers)

get_target_property(library_type holdfast TYPE)
if(library_type STREQUAL "SHARED_LIBRARY")
  set(HOLDFAST_IS_SHARED ON)
else()
  set(HOLDFAST_IS_SHARED OFF)
endif()

# ---- The library --------------------------------------------------------------------------------

# Before 1.0 every minor version may change the ABI.
set(abi_version ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
set_target_properties(holdfast PROPERTIES
  VERSION ${PROJECT_VERSION}
  SOVERSION ${abi_version})

install(TARGETS holdfast EXPORT holdfastTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT develop
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime NAMELINK_COMPONENT develop
  INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/holdfast
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT develop FILES_MATCHING PATTERN "*.h")

# ---- find_package(holdfast) ---------------------------------------------------------------------

set(cmake_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/holdfast)
install(EXPORT holdfastTargets NAMESPACE holdfast::
  DESTINATION ${cmake_package_dir} COMPONENT develop)
configure_package_config_file(
  ${CMAKE_CURRENT_LIST_DIR}/holdfastConfig.cmake.in ${PROJECT_BINARY_DIR}/holdfastConfig.cmake
  INSTALL_DESTINATION ${cmake_package_dir} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/holdfastConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(
  FILES ${PROJECT_BINARY_DIR}/holdfastConfig.cmake ${PROJECT_BINARY_DIR}/holdfastConfigVersion.cmake
  DESTINATION ${cmake_package_dir} COMPONENT develop)

# ---- pkg-config ---------------------------------------------------------------------------------

# What the library itself links with. Where there is only a static library every user needs it too,
# so that plain `pkg-config --libs holdfast` works, with or without --static.
set(private_modules "sqlite3")
if(HOLDFAST_HAS_REDIS)
  string(APPEND private_modules " hiredis")
endif()
if(HOLDFAST_IS_SHARED)
  set(pc_requires "Requires.private: ${private_modules}")
  set(pc_libs "-L\${libdir} -lholdfast\nLibs.private: -pthread")
  set(pc_definitions " -DHOLDFAST_SHARED")
else()
  set(pc_requires "Requires: ${private_modules}")
  set(pc_libs "-L\${libdir} -lholdfast -lstdc++ -pthread")  # for C programs, too
endif()
# Relative to the file itself, so that an installed tree can be moved.
file(RELATIVE_PATH pc_prefix /p/${CMAKE_INSTALL_LIBDIR}/pkgconfig /p)
string(REGEX REPLACE "/$" "" pc_prefix "${pc_prefix}")
configure_file(${CMAKE_CURRENT_LIST_DIR}/holdfast.pc.in ${PROJECT_BINARY_DIR}/holdfast.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/holdfast.pc
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT develop)

# ---- The command --------------------------------------------------------------------------------

if(HOLDFAST_BUILD_CLI)
  install(TARGETS holdfast_cli DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT command)
  install(TARGETS holdfast_sim_cli holdfast_top_cli
    DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/holdfast COMPONENT command)
  if(TARGET holdfast_serve_cli)
    install(TARGETS holdfast_serve_cli
      DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/holdfast COMPONENT command)
  endif()
  if(TARGET holdfast_torture_cli)
    install(TARGETS holdfast_torture_cli
      DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/holdfast COMPONENT laboratory)
  endif()

  set(completions ${PROJECT_SOURCE_DIR}/cli/completions)
  if(EXISTS ${PROJECT_SOURCE_DIR}/docs/man/holdfast.1)
    install(FILES ${PROJECT_SOURCE_DIR}/docs/man/holdfast.1
      DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT command)
  endif()
  if(EXISTS ${completions}/holdfast.bash)
    install(FILES ${completions}/holdfast.bash RENAME holdfast
      DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT command)
  endif()
  if(EXISTS ${completions}/holdfast.fish)
    install(FILES ${completions}/holdfast.fish
      DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT command)
  endif()
  if(EXISTS ${completions}/holdfast.zsh)
    # Debian's zsh looks into vendor-completions below /usr, into site-functions elsewhere.
    install(CODE "
      set(zsh_dir site-functions)
      if(CMAKE_INSTALL_PREFIX STREQUAL \"/usr\")
        set(zsh_dir vendor-completions)
      endif()
      file(INSTALL \"${completions}/holdfast.zsh\" RENAME _holdfast
        DESTINATION \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DATADIR}/zsh/\${zsh_dir}\")"
      COMPONENT command)
  endif()
endif()

# ---- Jobs ---------------------------------------------------------------------------------------

# Templates do nothing until somebody enables an instance. systemd looks into lib/systemd below /usr and
# /usr/local, whatever the library directory is called.
if(HOLDFAST_BUILD_CLI)
  file(GLOB units CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/examples/jobs/*@.*)
  install(FILES ${units} DESTINATION lib/systemd/system COMPONENT command)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/examples/jobs
    DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/holdfast/examples COMPONENT command)
endif()

# ---- The .deb -----------------------------------------------------------------------------------

if(NOT PROJECT_IS_TOP_LEVEL)
  return()
endif()

set(runtime_package libholdfast${abi_version})
set(doc_components command laboratory develop)
if(HOLDFAST_IS_SHARED)
  list(APPEND doc_components runtime)
endif()
foreach(component IN LISTS doc_components)
  set(package_of_command holdfast)
  set(package_of_laboratory holdfast-torture)
  set(package_of_runtime ${runtime_package})
  set(package_of_develop libholdfast-dev)
  install(FILES ${PROJECT_SOURCE_DIR}/NOTICE RENAME copyright
    DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${package_of_${component}} COMPONENT ${component})
endforeach()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME holdfast)
set(CPACK_PACKAGE_VENDOR "Holdfast developers")
set(CPACK_PACKAGE_CONTACT "Holdfast developers <holdfast@example.org>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "distributed lock with fencing tokens")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL develop)
if(HOLDFAST_BUILD_CLI)
  list(APPEND CPACK_COMPONENTS_ALL command)
endif()
if(TARGET holdfast_torture_cli)
  list(APPEND CPACK_COMPONENTS_ALL laboratory)
endif()
if(HOLDFAST_IS_SHARED)
  list(APPEND CPACK_COMPONENTS_ALL runtime)
endif()
set(CPACK_COMPONENTS_GROUPING ONE_PER_GROUP)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)

# Depends comes from what the programs are linked with, read by dpkg-shlibdeps (package dpkg-dev).
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR}/src)

set(CPACK_DEBIAN_COMMAND_PACKAGE_NAME holdfast)
set(CPACK_DEBIAN_COMMAND_PACKAGE_SECTION utils)
set(CPACK_COMPONENT_COMMAND_DESCRIPTION
  "Runs a command under a lock that is shared by all processes that name it, and
shows who holds and who waits. Each grant carries a fencing token, so that the
protected resource can refuse a holder whose lock has ended.")

# A package of its own: it is linked with client libraries that the command loads when needed.
set(CPACK_DEBIAN_LABORATORY_PACKAGE_NAME holdfast-torture)
set(CPACK_DEBIAN_LABORATORY_PACKAGE_SECTION utils)
set(CPACK_DEBIAN_LABORATORY_PACKAGE_SUGGESTS
  "redis-server, memcached, zookeeper, etcd-server, postgresql, mariadb-server")
set(CPACK_COMPONENT_LABORATORY_DESCRIPTION
  "The command `holdfast torture`: starts real servers, injects faults and judges
what became of the locks.")

set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME ${runtime_package})
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION libs)
set(CPACK_COMPONENT_RUNTIME_DESCRIPTION
  "The shared library, for programs that are linked with it.")

set(CPACK_DEBIAN_DEVELOP_PACKAGE_NAME libholdfast-dev)
set(CPACK_DEBIAN_DEVELOP_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOP_PACKAGE_SHLIBDEPS OFF)
set(CPACK_COMPONENT_DEVELOP_DESCRIPTION
  "Headers and library for C++ programs, with files for CMake and pkg-config.")
# dpkg-shlibdeps sees which functions are called, not that the statements need RETURNING.
# Nor that OpenSSL is loaded when TLS is first used, and nghttp2 when etcd is.
set(needed "libsqlite3-0 (>= 3.35), libssl3, libnghttp2-14")
set(own_version "(= ${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})")
# They use what the shared library does not export, and so contain the library.
set(CPACK_DEBIAN_COMMAND_PACKAGE_DEPENDS ${needed})
set(CPACK_DEBIAN_LABORATORY_PACKAGE_DEPENDS ${needed})
if(HOLDFAST_IS_SHARED)
  set(CPACK_DEBIAN_RUNTIME_PACKAGE_DEPENDS ${needed})
  set(CPACK_DEBIAN_DEVELOP_PACKAGE_DEPENDS
    "${runtime_package} ${own_version}, libsqlite3-dev, libhiredis-dev")
else()
  set(CPACK_DEBIAN_DEVELOP_PACKAGE_DEPENDS "libsqlite3-dev, libhiredis-dev, libssl3, libnghttp2-14")
endif()
# Loaded when a lock is first taken in MySQL or PostgreSQL; without them the message says so.
foreach(component COMMAND RUNTIME DEVELOP)
  set(CPACK_DEBIAN_${component}_PACKAGE_RECOMMENDS "libmariadb3, libpq5")
endforeach()
include(CPack)
