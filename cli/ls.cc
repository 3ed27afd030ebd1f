// holdfast ls: who holds what, and how many wait.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "lock_info.h"
#include "table.h"

namespace holdfast::cli {
namespace {

constexpr const char* kExamples = R"(Examples:
  holdfast ls
  holdfast ls backup/                     # locks whose names begin with backup/
  holdfast --json ls | jq -r '.locks[].name'

One line per holder; locks that nobody holds or waits for are not listed, nor those of other programs
that keep the same keys (`holdfast show` has them). A name that is not UTF-8 has a name_hex in JSON.)";

int list(const Session& session, const std::string& prefix) {
  Result<Client> client = session.open();
  if (!client) return session.fail(client.failure());
  Result<std::vector<LockInfo>> locks = client->list(prefix);
  if (!locks) return session.fail(locks.failure());

  if (session.json) {
    Json object = {{"locks", Json::array()}};
    for (const LockInfo& lock : *locks) object["locks"].push_back(to_json(lock));
    session.print(object);
    return kOk;
  }
  Table table({"NAME", "MODE", "TOKEN", "HELD", "EXPIRES", "WAITING", "HOLDER"});
  for (const LockInfo& lock : *locks) {
    const std::string waiting = std::to_string(lock.waiters.size());
    for (const HolderInfo& holder : lock.holders) {
      table.add({lock.name.display(), mode_name(holder.mode), holder.token.str(),
                 shown(holder.held_for), shown(holder.expires_in), waiting,
                 printable(holder.label)});
    }
    if (lock.holders.empty()) table.add({lock.name.display(), "-", "-", "-", "-", waiting, "-"});
  }
  if (!locks->empty()) std::fputs(table.text().c_str(), stdout);
  return kOk;
}

}  // namespace

void add_ls(CLI::App& app, Invocation& invocation) {
  CLI::App* command = app.add_subcommand("ls", "List the locks that are held or waited for");
  auto prefix = std::make_shared<std::string>();
  command->add_option("PREFIX", *prefix, "Only names that begin with this")->type_name("");
  command->footer(kExamples);
  command->callback([&invocation, prefix] {
    invocation.action = [&invocation, prefix] { return list(invocation.session, *prefix); };
  });
}

}  // namespace holdfast::cli
