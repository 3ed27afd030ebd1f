# holdfast-serve: the daemon.
# Beast and Asio are headers; TLS is linked here, where the library loads it only when it is needed.
find_package(OpenSSL 3 REQUIRED)
include(serve/embed.cmake)
add_executable(holdfast_serve_cli serve/main.cc serve/command.cc
  serve/asked.cc serve/broadcast.cc serve/chance.cc serve/channel.cc serve/connection.cc serve/daemon.cc
  serve/engines.cc serve/fields.cc serve/gatekeeper.cc serve/history.cc serve/http.cc serve/leases.cc
  serve/lock_api.cc serve/lock_json.cc serve/metrics_page.cc serve/monitor.cc serve/otlp.cc serve/problem.cc
  serve/process_figures.cc serve/repeats.cc serve/returns.cc serve/server.cc serve/tap.cc
  deadlock_info.cc deadlock_watch.cc guarantees_json.cc history_event.cc lock_info.cc seen_lock.cc
  run/service_notifier.cc)
set_target_properties(holdfast_serve_cli PROPERTIES OUTPUT_NAME holdfast-serve)
target_link_libraries(holdfast_serve_cli PRIVATE
  holdfast_cli_common holdfast_compile Boost::headers OpenSSL::SSL OpenSSL::Crypto)
# The headers of Asio take most of the time.
target_precompile_headers(holdfast_serve_cli PRIVATE
  <utility> <boost/asio.hpp> <boost/asio/ssl.hpp> <nlohmann/json.hpp> <CLI/CLI.hpp>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC 12 takes the frames of Asio's coroutines, which come from a pool, for freed in another way than they were made.
  target_compile_options(holdfast_serve_cli PRIVATE -Wno-mismatched-new-delete)
endif()
file(GLOB page RELATIVE ${CMAKE_CURRENT_SOURCE_DIR}/serve CONFIGURE_DEPENDS
  serve/page/*.html serve/page/*.css serve/page/*.js serve/page/*.svg)
holdfast_embed(holdfast_serve_cli openapi.json ${page})
