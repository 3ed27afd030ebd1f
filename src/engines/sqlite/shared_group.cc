#include "engines/sqlite/shared_group.h"

#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

namespace holdfast::internal {

namespace {

// Calls `ask` with more room until the entry fits. Null if there is none.
template <class Entry, class Ask>
const Entry* entry_of(Entry& entry, std::vector<char>& room, Ask ask) {
  constexpr std::size_t kMax = std::size_t{1} << 20;
  for (room.resize(1024); room.size() <= kMax; room.resize(room.size() * 2)) {
    Entry* result = nullptr;
    if (ask(&entry, room.data(), room.size(), &result) != ERANGE) return result;
  }
  return nullptr;
}

bool this_process_is_in(gid_t group) {
  if (geteuid() == 0 || getegid() == group) return true;
  std::vector<gid_t> groups(static_cast<std::size_t>(std::max(getgroups(0, nullptr), 0)));
  const int count = getgroups(static_cast<int>(groups.size()), groups.data());
  return count > 0 &&
         std::find(groups.begin(), groups.begin() + count, group) != groups.begin() + count;
}

Failure unusable(const std::string& name, const std::string& why) {
  return {Code::misconfigured, "the group '" + name + "' of the lock database: " + why};
}

}  // namespace

Result<SharedGroup> SharedGroup::find(const std::string& name) {
  group entry{};
  std::vector<char> room;
  const group* found =
      entry_of(entry, room, [&](group* into, char* text, std::size_t size, group** result) {
        return getgrnam_r(name.c_str(), into, text, size, result);
      });
  if (found == nullptr) {
    return unusable(name,
                    "there is no such group; make it (groupadd --system), or correct the URL");
  }
  if (!this_process_is_in(found->gr_gid)) {
    return unusable(
        name, "uid " + std::to_string(geteuid()) +
                  " of this process is not in it; add the user (adduser USER GROUP) and log in "
                  "again, or restart the service");
  }
  return SharedGroup(found->gr_gid, name);
}

bool SharedGroup::has(uid_t user) const {
  if (user == 0 || user == geteuid()) return true;
  const auto known = known_.find(user);
  if (known != known_.end()) return known->second;
  return known_[user] = is_member(user);
}

bool SharedGroup::is_member(uid_t user) const {
  passwd entry{};
  std::vector<char> room;
  const passwd* found =
      entry_of(entry, room, [&](passwd* into, char* text, std::size_t size, passwd** result) {
        return getpwuid_r(user, into, text, size, result);
      });
  if (found == nullptr) return false;
  std::vector<gid_t> groups(64);
  int count = static_cast<int>(groups.size());
  if (getgrouplist(found->pw_name, found->pw_gid, groups.data(), &count) < 0) {
    groups.resize(static_cast<std::size_t>(count));
    if (getgrouplist(found->pw_name, found->pw_gid, groups.data(), &count) < 0) return false;
  }
  groups.resize(static_cast<std::size_t>(count));
  return std::find(groups.begin(), groups.end(), id_) != groups.end();
}

}  // namespace holdfast::internal
