// holdfast jobs: what was run once per period, by whom, and when it is due again.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "job_info.h"
#include "lock_info.h"
#include "table.h"

namespace holdfast::cli {
namespace {

constexpr const char* kJobsExamples = R"(Examples:
  holdfast jobs
  holdfast jobs backup-
  holdfast --json jobs | jq -r '.jobs[] | select(.state == "failed") | .name'
  holdfast jobs --forget nightly        # it is due again

Shows the last run of each job of `holdfast run NAME --once-per PERIOD`. A run is "running" as long as its
lock is held, "died" if it is not and no end was recorded. DUE is when the next run may begin.)";

struct JobsOptions {
  std::string prefix;
  std::optional<std::string> forget;
};

// Whether somebody holds the lock by the token of this run. If nobody can say, it is taken for held.
bool is_held(Client& client, const Name& name, const Job& job) {
  const Result<LockInfo> lock = client.inspect(name);
  if (!lock) return true;
  return std::ranges::any_of(lock->holders,
                             [&](const HolderInfo& holder) { return holder.token == job.token; });
}

std::string state_text(Client& client, const Name& name, const Job& job) {
  const bool died = job.state == Job::State::running && !is_held(client, name, job);
  return died ? "died" : to_text(job.state);
}

void print_json(const Session& session, Client& client, const std::vector<StoredJob>& jobs) {
  Json object = {{"jobs", Json::array()}};
  for (const StoredJob& stored : jobs) {
    Json& entry = object["jobs"].emplace_back();
    put_name(entry, stored.name);
    if (stored.job) {
      entry.update(to_json(*stored.job));
      entry["state"] = state_text(client, stored.name, *stored.job);
    } else {
      entry["problem"] = stored.job.message();
    }
  }
  session.print(object);
}

int list(const Session& session, const std::string& prefix) {
  Result<Client> client = session.open();
  if (!client) return session.fail(client.failure());
  const Result<std::vector<StoredJob>> jobs = client->jobs(prefix);
  if (!jobs) return session.fail(jobs.failure());
  if (session.json) return print_json(session, *client, *jobs), kOk;
  Table table({"NAME", "STATE", "STATUS", "STARTED", "ENDED", "DUE", "TOKEN", "PERIOD", "BY"});
  for (const auto& [name, job] : *jobs) {
    if (!job) {
      session.warn(job.message());
      continue;
    }
    const std::string state = state_text(*client, name, *job);
    table.add({name.display(), state, job->status ? std::to_string(*job->status) : "-",
               shown_time(job->started), job->ended ? shown_time(*job->ended) : "-",
               state == "running" ? "-" : due_text(*job), job->token.str(), job->schedule,
               shown_label(job->label)});
  }
  if (!jobs->empty()) std::fputs(table.text().c_str(), stdout);
  return kOk;
}

int forget(const Session& session, const std::string& word) {
  if (const auto problem = Name::problem_with(word)) {
    return session.fail(Failure(Code::invalid_argument, *problem));
  }
  const Name name(word);
  Result<Client> client = session.open();
  if (!client) return session.fail(client.failure());
  const Result<bool> forgotten = client->forget_job(name);
  if (!forgotten) return session.fail(forgotten.failure());
  if (session.json) {
    Json object;
    put_name(object, name);
    object["forgotten"] = *forgotten;
    session.print(object);
  } else if (!*forgotten) {
    session.warn("there is no record of '" + name.display() + "': it is due anyway");
  }
  return kOk;
}

}  // namespace

void add_jobs(CLI::App& app, Invocation& invocation) {
  CLI::App* command =
      app.add_subcommand("jobs", "Show the last run of each job that is run once per period");
  auto options = std::make_shared<JobsOptions>();
  auto* prefix = command->add_option("PREFIX", options->prefix, "Only names that begin with this")
                     ->type_name("");
  command->add_option("--forget", options->forget, "Remove the record of a job: it is due again")
      ->type_name("NAME")
      ->excludes(prefix);
  command->footer(kJobsExamples);
  command->callback([&invocation, options] {
    invocation.action = [&invocation, options] {
      const Session& session = invocation.session;
      return options->forget ? forget(session, *options->forget) : list(session, options->prefix);
    };
  });
}

}  // namespace holdfast::cli
