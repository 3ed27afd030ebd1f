// The part of a Turn that is about other claims of this client in the same queue: see LocalQueue.
#include <algorithm>

#include "engines/etcd/turn.h"

namespace holdfast::internal::etcd {

Task<std::optional<Failure>> Turn::rest() {
  while (!place_->near_front()) {
    const Woken woken = co_await vigil_.told.wait(wait_.deadline, wait_.stop);
    vigil_.told.reset();
    if (std::optional<Failure> end = over(woken)) co_return end;
    if ((*session_)->lost) break;
  }
  co_return std::nullopt;
}

Task<Result<void>> Turn::change_session() {
  const Deadline deadline = answer_deadline();
  const Result<SessionPtr> moved =
      co_await common_.sessions.replace(session_->get(), claim_.ttl, key_, created_, deadline);
  if (!moved) co_return moved.failure();  // If our key is gone, the next look says so.
  session_.emplace(common_.runtime, *moved);
  lease_ = (*moved)->lease;
  co_return Result<void>();
}

Task<Result<void>> Turn::survey() {
  const Range all{.key = keys_.base, .end = keys_.end, .keys_only = true};
  const Deadline deadline = answer_deadline();
  const Result<Answer> answer =
      co_await common_.cluster.call(Method::range, encode(all), deadline, wait_.stop);
  if (!answer) co_return answer.failure();
  std::optional<RangeAnswer> queue = decode_range(answer->message);
  if (!queue) co_return common_.makes_no_sense();
  answered();
  std::vector<KeyValue>& pairs = queue->pairs;
  std::ranges::sort(pairs, {}, &KeyValue::created);
  common_.local_queue.for_each_unsure(keys_.base, [&](LocalQueue<InTheWay>::Entry& place) {
    const auto order = static_cast<Revision>(place.order());
    const auto own = std::ranges::lower_bound(pairs, order, {}, &KeyValue::created);
    // Not there yet, not there any more, or the first of all: then it looks for itself.
    if (own == pairs.end() || own == pairs.begin()) return;
    if (own->created != order || own->key != place.name()) return;
    const Entry before = entry_of(keys_, *std::prev(own));
    place.before = InTheWay{.key = before.key,
                            .created = before.created,
                            .mode = before.mode,
                            .last = std::prev(own) == pairs.begin()};
  });
  co_return Result<void>();
}

}  // namespace holdfast::internal::etcd
