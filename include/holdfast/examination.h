// Examination: what the server behind a client really is, what it is set to, and what that means for locks. The
// same facts lower Client::guarantees(), refuse a server that only looks like one, and are what `holdfast doctor`
// prints.
//
// Thread safety: values.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "holdfast/engine.h"
#include "holdfast/export.h"

namespace holdfast {

enum class Severity {
  good,     // as it should be
  note,     // worth knowing; nothing to do
  warning,  // locks can be lost, or fail later: see Finding::mend
  unfit,    // it breaks the promise of a lock: every call fails with Code::misconfigured
};

HOLDFAST_API const char* to_text(Severity value);

struct Finding {
  Severity severity = Severity::note;
  // Stable, for programs: "redis-no-append-only-file".
  std::string id;
  std::string what;  // one line; may contain the server's words: show it as printable(what)
  std::string mend;  // the command or the setting that mends it; empty if there is nothing to do
  // The most that the engine can give while this is so. Nothing: it lowers no guarantee.
  std::optional<Exclusion> exclusion{};
  std::optional<TokenStrength> token{};
};

// A setting as the server tells it: "appendonly", "yes".
struct ServerSetting {
  std::string name;
  std::string value;
};

// The server's clock against ours; only where the server tells its time.
struct ClockDifference {
  Duration ahead{};  // of the server's clock; negative: it is behind
  Duration
      error{};  // at most: half of the round trip, and half of the unit in which the time was told
};

struct Examination {
  std::string product;  // "Redis", "Valkey", "MariaDB with Galera"; empty: it does not say
  std::string version;  // "7.0.15"
  std::string server;   // where it is: "127.0.0.1:6379"
  std::vector<ServerSetting> settings;
  std::optional<ClockDifference> clock;
  std::vector<Finding> findings;
  Guarantees guarantees;  // what this server can truly give

  // The worst of the findings; good if there are none.
  HOLDFAST_API Severity verdict() const;
};

}  // namespace holdfast
