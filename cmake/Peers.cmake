# Programs on other lock libraries, in Java and Go, from Debian's packages of these libraries. Tests
# and benchmarks compare us with them.

# Debian's own, because it compiles Debian's packages of Go sources; another may come first in PATH.
find_program(HOLDFAST_GO go PATHS /usr/bin NO_DEFAULT_PATH)
find_program(HOLDFAST_JAVA java)
find_program(HOLDFAST_JAVAC javac)

set(HOLDFAST_CURATOR_JARS "")
foreach(jar curator-recipes curator-framework curator-client guava zookeeper zookeeper-jute
        slf4j-api slf4j-nop)
  string(APPEND HOLDFAST_CURATOR_JARS ":/usr/share/java/${jar}.jar")
endforeach()

# holdfast_curator_peer(TARGET CLASS SOURCES…): CLASS in the first of SOURCES, on Curator. In the
# caller: TARGET_class_path for `java -cp`; empty if it cannot be compiled here.
function(holdfast_curator_peer target class)
  set(${target}_class_path "" PARENT_SCOPE)
  add_custom_target(${target})
  if(NOT HOLDFAST_JAVA OR NOT HOLDFAST_JAVAC OR NOT EXISTS /usr/share/java/curator-recipes.jar)
    message(STATUS "holdfast: nothing is compared with Curator here "
      "(Debian: default-jdk-headless, libcurator-recipes-java)")
    return()
  endif()
  set(classes ${CMAKE_CURRENT_BINARY_DIR}/java/${target})
  list(TRANSFORM ARGN PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/ OUTPUT_VARIABLE sources)
  add_custom_command(OUTPUT ${classes}/${class}.class
    COMMAND ${HOLDFAST_JAVAC} -d ${classes} -cp "${HOLDFAST_CURATOR_JARS}" ${sources}
    DEPENDS ${sources} COMMENT "Compiling ${class} on Curator" VERBATIM)
  add_custom_target(${target}_classes DEPENDS ${classes}/${class}.class)
  add_dependencies(${target} ${target}_classes)
  set(${target}_class_path "${classes}${HOLDFAST_CURATOR_JARS}" PARENT_SCOPE)
endfunction()

# holdfast_etcd_go_peer(TARGET SOURCES…): a program on etcd's Go client. In the caller:
# TARGET_program; empty if it cannot be compiled here.
function(holdfast_etcd_go_peer target)
  set(${target}_program "" PARENT_SCOPE)
  add_custom_target(${target})
  set(packages /usr/share/gocode)
  if(NOT HOLDFAST_GO OR NOT EXISTS ${packages}/src/go.etcd.io/etcd/clientv3/concurrency)
    message(STATUS "holdfast: nothing is compared with etcd's Go client here "
      "(Debian: golang-go, golang-etcd-server-dev)")
    return()
  endif()
  set(program ${CMAKE_CURRENT_BINARY_DIR}/go/${target})
  list(TRANSFORM ARGN PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/ OUTPUT_VARIABLE sources)
  # Nothing from the network: packages are found by the old rules.
  add_custom_command(OUTPUT ${program}
    COMMAND ${CMAKE_COMMAND} -E env GO111MODULE=off GOPATH=${packages} GOFLAGS= CGO_ENABLED=0
            GOCACHE=${PROJECT_BINARY_DIR}/gocache ${HOLDFAST_GO} build -o ${program} ${sources}
    DEPENDS ${sources} COMMENT "Compiling ${target} on etcd's Go client" VERBATIM)
  add_custom_target(${target}_executable DEPENDS ${program})
  add_dependencies(${target} ${target}_executable)
  set(${target}_program ${program} PARENT_SCOPE)
endfunction()
