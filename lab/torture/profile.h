// Profile: an engine as the laboratory knows it: how its servers are started, what can be done to
// them, and what decides how a scenario ends there.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "holdfast/time.h"
#include "lab/torture/site.h"

namespace holdfast::lab {

struct Profile {
  std::string name;  // "redis"; a column of the matrix
  std::string about;
  Duration ttl = std::chrono::seconds(2);  // of locks that are to end soon
  std::set<Can> can;
  bool quorum = false;               // of several servers that know nothing of each other
  bool consensus = false;            // of servers that agree
  bool wall_clock_ttl = false;       // a hold ends by the wall clock of a server
  bool waits_for_the_clock = false;  // set back, that clock keeps a dead holder's lock
  bool session_hold = false;         // a hold ends with the connection that carries it
  bool database = false;             // of many uses: its replication is its own affair
  bool users_own = false;            // a server of the user's: no lock is stranded there
  // Programs without which nothing can be started: a sentence that names the package, or nothing.
  std::function<std::optional<std::string>()> missing;
  std::function<std::unique_ptr<Site>(const SiteOptions&)> open;
};

// All engines that this build knows, in the order of the matrix.
const std::vector<Profile>& profiles();
const Profile* find_profile(const std::string& name);
// The user's own server: only clients and, where they are plain TCP, the ways to it can be tormented.
Profile profile_of_url(const std::string& url);

}  // namespace holdfast::lab
