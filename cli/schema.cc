// holdfast schema: the statements that make the tables of an engine.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "commands.h"

namespace holdfast::cli {
namespace {

constexpr const char* kSchemaExamples = R"(Examples:
  holdfast schema --on postgres://db.example/app | psql app
  holdfast schema --on 'mysql://db.example/app?recipe=named' | mariadb app

For databases in which programs may not create tables (create_schema=no). Nothing is connected to.)";

int schema(const Session& session) {
  const Result<std::string> url = session.url();
  if (!url) return session.fail(url.failure());
  if (url->empty()) {
    return session.fail(Failure(Code::invalid_argument,
                                "give --on URL: the embedded engine makes its file itself"));
  }
  const Result<std::vector<std::string>> statements = Client::schema(*url);
  if (!statements) return session.fail(statements.failure());
  if (session.json) {
    session.print({{"statements", *statements}});
    return kOk;
  }
  for (const std::string& statement : *statements) std::printf("%s;\n", statement.c_str());
  return kOk;
}

}  // namespace

void add_schema(CLI::App& app, Invocation& invocation) {
  CLI::App* command =
      app.add_subcommand("schema", "Print the statements that make the tables of an engine");
  command->footer(kSchemaExamples);
  command->callback(
      [&invocation] { invocation.action = [&invocation] { return schema(invocation.session); }; });
}

}  // namespace holdfast::cli
