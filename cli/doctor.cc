// holdfast doctor: what the server behind a URL is, what it is set to, and what that means for locks.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "guarantees_json.h"
#include "holdfast/text.h"
#include "table.h"

namespace holdfast::cli {
namespace {

constexpr const char* kDoctorExamples = R"(Examples:
  holdfast doctor redis://cache.example:6379
  holdfast doctor --on @/etc/app/locks.url
  holdfast --json doctor | jq -r '.findings[] | select(.severity == "warning") | .mend'

Connects, and says which product and version answers, what it is set to, how its clock stands
against ours, which known defects of that version concern locks, what it can truly guarantee, and
what to change. It takes no lock and changes nothing. Each finding has what mends it.

Exit status: 0 good, 1 warnings, 69 unreachable, 78 unfit: it cannot keep locks as it is.)";

void print_findings(const Examination& found) {
  for (const Severity severity :
       {Severity::unfit, Severity::warning, Severity::note, Severity::good}) {
    for (const Finding& finding : found.findings) {
      if (finding.severity != severity) continue;
      std::printf("%-8s %s\n", to_text(severity), for_terminal(finding.what).c_str());
      if (!finding.mend.empty()) {
        std::printf("         mend: %s\n", for_terminal(finding.mend).c_str());
      }
    }
  }
}

void print_text(const Examination& found) {
  const Guarantees& can = found.guarantees;
  const std::string product = found.product.empty() ? "a server that does not say what it is"
                                                    : found.product + " " + found.version;
  std::printf("%s: %s\n", for_terminal(found.server).c_str(), for_terminal(product).c_str());
  std::printf("%s, %s: exclusion %s, token %s, wake-up by %s\n\n", can.engine.c_str(),
              can.recipe.c_str(), to_text(can.exclusion), to_text(can.token), to_text(can.wake_up));
  print_findings(found);
  if (!found.settings.empty()) {
    std::printf("\n");
    Table table({"SETTING", "VALUE"});
    for (const ServerSetting& setting : found.settings) table.add({setting.name, setting.value});
    std::fputs(table.text().c_str(), stdout);
  }
}

int status_of(Severity verdict) {
  switch (verdict) {
    case Severity::good:
    case Severity::note: return kOk;
    case Severity::warning: return kViolation;
    case Severity::unfit: return kMisconfigured;
  }
  return kSoftware;
}

// Findings say what a warning would say.
class Quiet final : public Observer {};

int doctor(Session session, const std::string& url) {
  if (!url.empty() && session.on) {
    return session.fail(Failure(Code::invalid_argument, "give the URL once: as argument, or --on"));
  }
  if (!url.empty()) session.on = url;
  Result<Client> client = session.open({.observer = std::make_shared<Quiet>()});
  if (!client) return session.fail(client.failure());
  const Result<Examination> found = client->examine();
  if (!found) return session.fail(found.failure());
  if (session.json) {
    session.print(to_json(*found));
  } else {
    print_text(*found);
  }
  return status_of(found->verdict());
}

}  // namespace

void add_doctor(CLI::App& app, Invocation& invocation) {
  CLI::App* command =
      app.add_subcommand("doctor", "Examine a server: product, settings, defects, guarantees");
  auto url = std::make_shared<std::string>();
  command->add_option("URL", *url, "The server, or @FILE with its URL; default: --on")
      ->type_name("");
  command->footer(kDoctorExamples);
  command->callback([&invocation, url] {
    invocation.action = [&invocation, url] { return doctor(invocation.session, *url); };
  });
}

}  // namespace holdfast::cli
