// holdfast release: give back a lock that `holdfast acquire` took.
#include <CLI/CLI.hpp>
#include <memory>

#include "commands.h"
#include "handle_argument.h"

namespace holdfast::cli {
namespace {

constexpr const char* kReleaseExamples = R"(Examples:
  holdfast release "$handle"
  echo "$handle" | holdfast release -     # no other user sees the handle
  holdfast release "$handles"             # what `holdfast acquire a b` printed, as a whole

A lock that has expired, or was taken away, is not touched: status 76 says that you did not hold it
any more, and somebody else may have been at work. Use the same --on as for acquire. Of several handles
each is released, whatever becomes of the others; the status is that of the first failure.

Exit status: 0; 64 not a handle, 69 engine unreachable, 76 not held any more, 78 bad
configuration.)";

int release(const Session& session, const std::vector<std::string>& words) {
  return for_each_handle(session, words, "released", [](Client& client, const Handle& handle) {
    return client.release(handle);
  });
}

}  // namespace

void add_release(CLI::App& app, Invocation& invocation) {
  CLI::App* command = app.add_subcommand("release", "Give back acquired locks");
  auto words = std::make_shared<std::vector<std::string>>();
  add_handles(*command, *words);
  command->footer(kReleaseExamples);
  command->callback([&invocation, words] {
    invocation.action = [&invocation, words] { return release(invocation.session, *words); };
  });
}

}  // namespace holdfast::cli
