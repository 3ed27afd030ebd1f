// holdfast release: give back a lock that `holdfast acquire` took.
#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "handle_argument.h"

namespace holdfast::cli {
namespace {

constexpr const char* kReleaseExamples = R"(Examples:
  holdfast release "$handle"
  echo "$handle" | holdfast release -     # no other user sees the handle

A lock that has expired, or was taken away, is not touched: status 76 says that you did not hold it
any more, and somebody else may have been at work. Use the same --on as for acquire.

Exit status: 0; 64 not a handle, 69 engine unreachable, 76 not held any more, 78 bad
configuration.)";

int release(const Session& session, const std::string& text) {
  Result<Handle> handle = read_handle(text);
  if (!handle) return session.fail(handle.failure());
  Result<Client> client = session.open();
  if (!client) return session.fail(client.failure());
  const Result<void> released = client->release(*handle);
  if (!released) return session.fail(released.failure());
  if (session.json) {
    Json object;
    put_name(object, handle->hold().claim.name);
    object["token"] = handle->hold().token.value();
    object["released"] = true;
    session.print(object);
  }
  return kOk;
}

}  // namespace

void add_release(CLI::App& app, Invocation& invocation) {
  CLI::App* command = app.add_subcommand("release", "Give back an acquired lock");
  auto handle = std::make_shared<std::string>();
  add_handle(*command, *handle);
  command->footer(kReleaseExamples);
  command->callback([&invocation, handle] {
    invocation.action = [&invocation, handle] { return release(invocation.session, *handle); };
  });
}

}  // namespace holdfast::cli
