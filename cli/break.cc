// holdfast break: take a lock away from the holder with exactly this token.
#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>

#include "commands.h"

namespace holdfast::cli {
namespace {

constexpr const char* kBreakExamples = R"(Examples:
  holdfast show backup                # tells the holder's token, say 41
  holdfast break backup --token 41

Breaking is a compare, never blind: if the lock has changed hands since you looked, nothing happens
and the status is 76. The former holder learns of it at its next renewal, up to a third of its ttl
later; meanwhile only a fence at the resource (a check of the token) protects it.

Exit status: 0; 64 bad usage, 69 engine unreachable, 76 not held with this token, 78 bad
configuration.)";

struct BreakOptions {
  std::string name;
  std::string token;
};

Result<Token> parse_token(const std::string& text) {
  std::uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc() && rest == end && value > 0) return Token(value);
  return Failure(Code::invalid_argument,
                 "--token must be a whole number above 0: ask `holdfast show`");
}

int break_lock(const Session& session, const BreakOptions& options) {
  if (auto problem = Name::problem_with(options.name)) {
    return session.fail(Failure(Code::invalid_argument, *problem));
  }
  Result<Token> token = parse_token(options.token);
  if (!token) return session.fail(token.failure());
  Result<Client> client = session.open();
  if (!client) return session.fail(client.failure());
  const Name name(options.name);
  const Result<void> evicted = client->evict(name, *token);
  if (!evicted) return session.fail(evicted.failure());
  if (session.json) {
    Json object;
    put_name(object, name);
    object["token"] = token->value();
    object["broken"] = true;
    session.print(object);
  }
  return kOk;
}

}  // namespace

void add_break(CLI::App& app, Invocation& invocation) {
  CLI::App* command = app.add_subcommand("break", "Take a lock away from its holder");
  auto options = std::make_shared<BreakOptions>();
  command->add_option("NAME", options->name, "The lock")->type_name("")->required();
  command->add_option("--token", options->token, "The token of the holder to evict (see show)")
      ->type_name("T")
      ->required();
  command->footer(kBreakExamples);
  command->callback([&invocation, options] {
    invocation.action = [&invocation, options] { return break_lock(invocation.session, *options); };
  });
}

}  // namespace holdfast::cli
