// holdfast renew: keep a lock that `holdfast acquire` took for another ttl.
#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "duration.h"
#include "handle_argument.h"

namespace holdfast::cli {
namespace {

constexpr const char* kRenewExamples = R"(Examples:
  holdfast renew "$handle" || { echo "the lock is gone, stop here"; exit 1; }

Use the same --on as for acquire. Exit status: 0; 64 not a handle, 69 engine unreachable, 76 not
held any more, 78 bad configuration.)";

int renew(const Session& session, const std::string& text) {
  Result<Handle> handle = read_handle(text);
  if (!handle) return session.fail(handle.failure());
  Result<Client> client = session.open();
  if (!client) return session.fail(client.failure());
  const Result<void> renewed = client->renew(*handle);
  if (!renewed) return session.fail(renewed.failure());
  if (session.json) {
    const Hold& hold = handle->hold();
    Json object;
    put_name(object, hold.claim.name);
    object["token"] = hold.token.value();
    object["renewed"] = true;
    object["ttl_ms"] = to_ms(hold.claim.ttl);
    session.print(object);
  }
  return kOk;
}

}  // namespace

void add_renew(CLI::App& app, Invocation& invocation) {
  CLI::App* command = app.add_subcommand("renew", "Keep an acquired lock for another ttl");
  auto handle = std::make_shared<std::string>();
  add_handle(*command, *handle);
  command->footer(kRenewExamples);
  command->callback([&invocation, handle] {
    invocation.action = [&invocation, handle] { return renew(invocation.session, *handle); };
  });
}

}  // namespace holdfast::cli
