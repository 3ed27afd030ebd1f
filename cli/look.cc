#include "look.h"

#include <condition_variable>
#include <mutex>
#include <optional>

namespace holdfast::cli {
namespace {

// The answers so far. The callbacks run on threads of the clients.
struct Answers {
  explicit Answers(std::size_t count) : locks(count), missing(count) {}

  void put(std::size_t index, Result<std::vector<LockInfo>> answer) {
    // Woken while we hold the mutex: the one who waits destroys us.
    const std::lock_guard guard(mutex);
    locks[index] = std::move(answer);
    if (--missing == 0) all_there.notify_one();
  }

  std::mutex mutex;
  std::condition_variable all_there;
  std::vector<std::optional<Result<std::vector<LockInfo>>>> locks;
  std::size_t missing;
};

}  // namespace

Result<std::vector<OpenPlace>> open_places(
    const Session& session, const std::function<std::shared_ptr<Observer>()>& observer_of) {
  Result<std::vector<Place>> places = places_of(session);
  if (!places) return places.failure();
  std::vector<OpenPlace> open;
  for (Place& place : *places) {
    Result<Client> client =
        Client::open(place.url, session.watched(place.name, {.observer = observer_of()}));
    if (!client) {
      return Failure(client.failure().code(), place.name + ": " + client.failure().message());
    }
    open.push_back({std::move(place), std::move(*client)});
  }
  return open;
}

Look look_at(std::vector<OpenPlace*> places) {
  Answers answers(places.size());
  for (std::size_t i = 0; i < places.size(); ++i) {
    places[i]->client.async_list().then(
        [&answers, i](Result<std::vector<LockInfo>> locks) { answers.put(i, std::move(locks)); });
  }
  std::unique_lock guard(answers.mutex);
  answers.all_there.wait(guard, [&] { return answers.missing == 0; });
  Look look;
  for (std::size_t i = 0; i < places.size(); ++i) {
    Result<std::vector<LockInfo>>& locks = *answers.locks[i];
    const OpenPlace& open = *places[i];
    if (!locks) {
      look.unseen.push_back({open.place.name, locks.failure()});
      continue;
    }
    look.seen.push_back({.engine = open.place.name,
                         .locks = std::move(*locks),
                         .fairness = open.client.guarantees().fairness});
  }
  return look;
}

}  // namespace holdfast::cli
