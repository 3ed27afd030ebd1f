// holdfast renew: keep a lock that `holdfast acquire` took for another ttl.
#include <CLI/CLI.hpp>
#include <memory>

#include "commands.h"
#include "handle_argument.h"

namespace holdfast::cli {
namespace {

constexpr const char* kRenewExamples = R"(Examples:
  holdfast renew "$handle" || { echo "the lock is gone, stop here"; exit 1; }

Use the same --on as for acquire. Exit status: 0; 64 not a handle, 69 engine unreachable, 76 not
held any more, 78 bad configuration.)";

int renew(const Session& session, const std::vector<std::string>& words) {
  return for_each_handle(session, words, "renewed",
                         [](Client& client, const Handle& handle) { return client.renew(handle); });
}

}  // namespace

void add_renew(CLI::App& app, Invocation& invocation) {
  CLI::App* command = app.add_subcommand("renew", "Keep acquired locks for another ttl");
  auto words = std::make_shared<std::vector<std::string>>();
  add_handles(*command, *words);
  command->footer(kRenewExamples);
  command->callback([&invocation, words] {
    invocation.action = [&invocation, words] { return renew(invocation.session, *words); };
  });
}

}  // namespace holdfast::cli
