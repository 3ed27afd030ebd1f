#include "serve/history.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "serve/chance.h"

namespace holdfast::cli::serve {
namespace {

constexpr std::size_t kRemembered = 20'000;
constexpr std::size_t kRememberedBytes = std::size_t{16}
                                         << 20;  // names are as long as strangers like
constexpr std::size_t kExact = 20'000;

std::size_t bytes_of(const HistoryEvent& event) {
  return sizeof event + event.engine.size() + event.name.bytes().size() + event.label.size() +
         event.owner.size() + event.reason.size();
}

// Taking and handing over, and the two ways to see an end, are one event each for whoever looks.
std::string key_of(const HistoryEvent& event) {
  const bool begins = event.kind == "granted" || event.kind == "handed_over";
  return digest_of(event.engine + '\0' + event.token.str() + (begins ? "+" : "-") +
                   event.name.bytes());
}

bool of_a_hold(const HistoryEvent& event) {
  for (const char* kind : {"granted", "handed_over", "released", "expired", "lost", "broken"}) {
    if (event.kind == kind) return true;
  }
  return false;
}

}  // namespace

Json to_json(const HistoryEvent& event) {
  Json object = event_json(event);
  object["path"] = percent_encoded(event.name.bytes());
  object["source"] = event.exact ? "daemon" : "seen";
  return object;
}

bool History::repeats(const HistoryEvent& event) {
  if (!of_a_hold(event) || event.token == Token()) return false;
  std::string key = key_of(event);
  if (!event.exact) return exact_.contains(key);
  // The holder may be a client of ours, which learns later that its lock was broken.
  if (!exact_.insert(key).second) return event.kind != "lost";
  exact_order_.push_back(std::move(key));
  if (exact_order_.size() > kExact) {
    exact_.erase(exact_order_.front());
    exact_order_.pop_front();
  }
  return false;
}

void History::add(HistoryEvent event) {
  if (repeats(event)) return;
  if (event.at_ms == 0) event.at_ms = wall_ms();
  bytes_ += bytes_of(event);
  events_.push_back(std::move(event));
  while (events_.size() > kRemembered || bytes_ > kRememberedBytes) {
    bytes_ -= bytes_of(events_.front());
    events_.pop_front();
  }
  if (listener_) listener_(events_.back());
}

std::vector<Json> History::events(const std::string* engine, const std::string* name,
                                  std::size_t most) const {
  std::vector<Json> found;
  for (auto event = events_.rbegin(); event != events_.rend() && found.size() < most; ++event) {
    if (engine && event->engine != *engine) continue;
    if (name && event->name.bytes() != *name) continue;
    found.push_back(to_json(*event));
  }
  std::ranges::reverse(found);
  return found;
}

}  // namespace holdfast::cli::serve
