#include "engines/etcd/facts.h"

#include "base/known_server.h"
#include "base/unreachable_instead_of_unknown.h"
#include "wire/protobuf.h"

namespace holdfast::internal::etcd {

namespace {

using Findings = std::vector<Finding>;

bool between(const VersionNumber& version, const VersionNumber& from, const VersionNumber& fixed) {
  return version >= from && version < fixed;
}

void look_for_defects(const VersionNumber& version, std::size_t members, Findings& findings) {
  // A cluster of one has no other leader.
  const bool one = members == 1;
  const bool early = version < VersionNumber{3, 4, 31} ||
                     between(version, VersionNumber{3, 5, 0}, VersionNumber{3, 5, 13});
  if (early && !one) {
    findings.push_back(
        {Severity::warning, "etcd-leases-revoked-early",
         "a leader that hangs (slow disk, little CPU) and was replaced revokes leases "
         "that were renewed at its successor (etcd issue 15247): a lock can end while "
         "it is held",
         "upgrade to 3.4.31, 3.5.13 or later", Exclusion::best_effort});
  }
  if (between(version, VersionNumber{3, 5, 0}, VersionNumber{3, 5, 3})) {
    findings.push_back({Severity::warning, "etcd-inconsistent",
                        "members can come to disagree after a crash (etcd issue 13766)",
                        "upgrade to 3.5.3 or later, at best to 3.5.13", Exclusion::best_effort,
                        TokenStrength::durable_one_node});
  }
  if (version < VersionNumber{3, 4, 0}) {
    findings.push_back({Severity::warning, "etcd-old", "it is older than what is tested",
                        "upgrade to 3.5.13 or later"});
  }
}

void look_at_cluster(const Facts& facts, Findings& findings) {
  if (facts.status.leader == 0) {
    findings.push_back({Severity::warning, "etcd-no-leader",
                        "this member knows no leader: nothing is granted",
                        "look at `etcdctl endpoint status --cluster`"});
  }
  if (facts.status.learner) {
    findings.push_back({Severity::warning, "etcd-learner",
                        "this member is a learner and serves no locks",
                        "name the voting members in the URL, or `etcdctl member promote`"});
  }
  if (facts.members == 1) {
    findings.push_back({Severity::note, "etcd-one-member",
                        "the cluster has one member: locks are as available as that one", ""});
  } else if (facts.members > 1 && facts.members % 2 == 0) {
    findings.push_back({Severity::note, "etcd-even",
                        "the cluster has " + std::to_string(facts.members) +
                            " members: it survives no more losses than with one less",
                        ""});
  } else if (facts.members > 1) {
    findings.push_back({Severity::good, "etcd-members",
                        "the cluster has " + std::to_string(facts.members) + " members", ""});
  }
  for (const int alarm : facts.alarms) {
    if (alarm == 1) {
      findings.push_back({Severity::warning, "etcd-no-space",
                          "its database is full (alarm NOSPACE): nothing is granted or renewed",
                          "etcdctl compact REVISION; etcdctl defrag; etcdctl alarm disarm"});
    } else {
      findings.push_back({Severity::unfit, "etcd-corrupt",
                          "members disagree about their data (alarm CORRUPT)",
                          "replace the member that differs: etcdctl member remove, then add"});
    }
  }
}

}  // namespace

std::optional<Status> decode_status(std::string_view bytes) {
  Status status;
  ProtoReader in(bytes);
  while (in.next()) {
    if (in.field() == 2) status.version = in.bytes();
    if (in.field() == 3) status.size_bytes = in.number();
    if (in.field() == 4) status.leader = static_cast<std::uint64_t>(in.number());
    if (in.field() == 8) status.errors.emplace_back(in.bytes());
    if (in.field() == 10) status.learner = in.truth();
  }
  if (!in.sound()) return std::nullopt;
  return status;
}

std::size_t count_members(std::string_view bytes) {
  std::size_t count = 0;
  ProtoReader in(bytes);
  while (in.next()) count += in.field() == 2 ? 1 : 0;
  return in.sound() ? count : 0;
}

std::vector<int> decode_alarms(std::string_view bytes) {
  std::vector<int> alarms;
  ProtoReader in(bytes);
  while (in.next()) {
    if (in.field() != 2) continue;
    ProtoReader alarm(in.bytes());
    while (alarm.next()) {
      if (alarm.field() == 2 && alarm.number() != 0) {
        alarms.push_back(static_cast<int>(alarm.number()));
      }
    }
  }
  return alarms;
}

Examination examined(const Facts& facts) {
  Examination found;
  found.product = "etcd";
  found.version = facts.status.version;
  found.server = "etcd at " + facts.server;
  if (facts.members > 0) found.settings.push_back({"members", std::to_string(facts.members)});
  found.settings.push_back({"leader", facts.status.leader == 0 ? "none" : "yes"});
  found.settings.push_back({"db_size", std::to_string(facts.status.size_bytes)});
  for (const std::string& error : facts.status.errors) found.settings.push_back({"error", error});
  look_for_defects(VersionNumber::parse(facts.status.version), facts.members, found.findings);
  look_at_cluster(facts, found.findings);
  return found;
}

Task<Result<Facts>> ask_facts(Cluster& cluster, std::string server, Deadline deadline) {
  Facts facts{.server = std::move(server)};
  const auto told = co_await cluster.call(Method::status, {}, deadline);
  if (!told) co_return unreachable_instead_of_unknown(told.failure());
  std::optional<Status> status = decode_status(told->message);
  if (!status) co_return cluster.failed(Code::misconfigured, "its status makes no sense");
  facts.status = std::move(*status);
  // Not every user may read these; the rest still holds.
  const auto members = co_await cluster.call(Method::member_list, {}, deadline);
  if (members) facts.members = count_members(members->message);
  const auto alarms = co_await cluster.call(Method::alarm, {}, deadline);
  if (alarms) facts.alarms = decode_alarms(alarms->message);
  co_return facts;
}

}  // namespace holdfast::internal::etcd
