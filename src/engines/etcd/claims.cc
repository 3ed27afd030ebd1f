#include "engines/etcd/claims.h"

#include <algorithm>

#include "engines/etcd/acquisition.h"

namespace holdfast::internal::etcd {

HeldKey* Claims::held(const ClaimId& id) {
  const auto found = held_.find(id);
  return found == held_.end() ? nullptr : &found->second;
}

void Claims::hold(HeldKey held) {
  forget(held.id);
  const ClaimId id = held.id;
  HeldKey& kept = held_.emplace(id, std::move(held)).first->second;
  // A hold that outlives this process ends with its own lease.
  if (kept.session->shared) kept.session->held[kept.key] = &kept;
}

void Claims::forget(const ClaimId& id) {
  const auto found = held_.find(id);
  if (found == held_.end()) return;
  auto& of_session = found->second.session->held;
  if (const auto key = of_session.find(found->second.key);
      key != of_session.end() && key->second == &found->second) {
    of_session.erase(key);
  }
  held_.erase(found);
}

void Claims::remove(const ClaimId& id, const Acquisition& acquisition) {
  const auto found = acquiring_.find(id);
  if (found != acquiring_.end() && found->second == &acquisition) acquiring_.erase(found);
}

void Claims::end_acquisition(const ClaimId& id) {
  if (const auto found = acquiring_.find(id); found != acquiring_.end()) found->second->end();
}

void Claims::on_session_lost() {
  for (const auto& [id, acquisition] : acquiring_) acquisition->wake();
}

void Claims::add_watch(const std::string& key, Acquisition& acquisition) {
  watches_.emplace(key, &acquisition);
}

void Claims::remove_watch(const std::string& key, const Acquisition& acquisition) {
  const auto [begin, end] = watches_.equal_range(key);
  const auto watch =
      std::find_if(begin, end, [&](const auto& one) { return one.second == &acquisition; });
  if (watch != end) watches_.erase(watch);
}

void Claims::tell_granted(const std::string& key, Revision created) {
  const auto [begin, end] = watches_.equal_range(key);
  for (auto watch = begin; watch != end; ++watch) {
    watch->second->on_predecessor_granted(key, created);
  }
}

}  // namespace holdfast::internal::etcd
