# An overlay port of this source tree: vcpkg install holdfast --overlay-ports=packaging/vcpkg/ports
# In a registry of vcpkg, vcpkg_from_git() of a release takes the place of SOURCE_PATH.
get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../../../.." ABSOLUTE)

vcpkg_check_features(OUT_FEATURE_OPTIONS features
  FEATURES
    command HOLDFAST_BUILD_CLI
    etcd HOLDFAST_ENGINE_ETCD
    memcached HOLDFAST_ENGINE_MEMCACHED
    mysql HOLDFAST_ENGINE_MYSQL
    postgres HOLDFAST_ENGINE_POSTGRES
    redis HOLDFAST_ENGINE_REDIS
    redis HOLDFAST_ENGINE_REDLOCK
    zookeeper HOLDFAST_ENGINE_ZOOKEEPER)
vcpkg_find_acquire_program(PKGCONFIG)

vcpkg_cmake_configure(
  SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS
    ${features}
    -DHOLDFAST_BUILD_TESTS=OFF
    -DHOLDFAST_BUILD_BENCH=OFF
    -DHOLDFAST_UNITY_BUILD=ON
    "-DPKG_CONFIG_EXECUTABLE=${PKGCONFIG}")
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(PACKAGE_NAME holdfast CONFIG_PATH lib/cmake/holdfast)
vcpkg_fixup_pkgconfig()
if("command" IN_LIST FEATURES)
  vcpkg_copy_tools(TOOL_NAMES holdfast AUTO_CLEAN)
endif()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE" "${SOURCE_PATH}/NOTICE")
