// holdfast ls: who holds what, and how many wait.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "commands.h"
#include "holdfast/text.h"
#include "lock_info.h"
#include "table.h"

namespace holdfast::cli {
namespace {

constexpr const char* kLsExamples = R"(Examples:
  holdfast ls
  holdfast ls backup/                     # locks whose names begin with backup/
  holdfast ls --names                     # names only, one per line
  holdfast --json ls | jq -r '.locks[].name'

One line per holder; locks that nobody holds or waits for are not listed, nor those of other programs
that keep the same keys (`holdfast show` has them). A name that is not UTF-8 has a name_hex in JSON.
--names is for scripts and shell completions: it leaves out names that could be taken for something
else there, with control or invisible characters, invalid UTF-8, a leading - or ~; JSON has them all.)";

struct ListOptions {
  std::string prefix;
  bool names = false;
};

// The gate to shell completions and scripts: such a name is a line of its own, shows what it is, and
// is neither an option nor a home directory (fish inserts a leading ~ as it is). It may still have
// any other character to which a shell gives a meaning: see completions/.
bool is_plain(const Name& name) {
  const std::string& bytes = name.bytes();
  if (bytes.starts_with('-') || bytes.starts_with('~')) return false;
  return printable(bytes, Name::kMaxBytes) == bytes;
}

void print_names(const std::vector<LockInfo>& locks) {
  std::set<std::string> names;
  for (const LockInfo& lock : locks) {
    if (is_plain(lock.name)) names.insert(lock.name.bytes());
  }
  for (const std::string& name : names) std::printf("%s\n", name.c_str());
}

int list(const Session& session, const ListOptions& options) {
  Result<Client> client = session.open();
  if (!client) return session.fail(client.failure());
  Result<std::vector<LockInfo>> locks = client->list(options.prefix);
  if (!locks) return session.fail(locks.failure());

  if (session.json) {
    Json object = {{"locks", Json::array()}};
    for (const LockInfo& lock : *locks) object["locks"].push_back(to_json(lock));
    session.print(object);
    return kOk;
  }
  if (options.names) return print_names(*locks), kOk;
  Table table({"NAME", "MODE", "TOKEN", "HELD", "EXPIRES", "WAITING", "HOLDER"});
  for (const LockInfo& lock : *locks) {
    const std::string waiting = std::to_string(lock.waiters.size());
    for (const HolderInfo& holder : lock.holders) {
      table.add({lock.name.display(), mode_name(holder.mode), holder.token.str(),
                 shown(holder.held_for), shown(holder.expires_in), waiting,
                 shown_label(holder.label)});
    }
    if (lock.holders.empty()) table.add({lock.name.display(), "-", "-", "-", "-", waiting, "-"});
  }
  if (!locks->empty()) std::fputs(table.text().c_str(), stdout);
  return kOk;
}

}  // namespace

void add_ls(CLI::App& app, Invocation& invocation) {
  CLI::App* command = app.add_subcommand("ls", "List the locks that are held or waited for");
  auto options = std::make_shared<ListOptions>();
  command->add_option("PREFIX", options->prefix, "Only names that begin with this")->type_name("");
  command->add_flag("--names", options->names, "Names only, one per line");
  command->footer(kLsExamples);
  command->callback([&invocation, options] {
    invocation.action = [&invocation, options] { return list(invocation.session, *options); };
  });
}

}  // namespace holdfast::cli
