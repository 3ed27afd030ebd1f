#include "lab/checker.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>

namespace holdfast::lab {
namespace {

// A client that asked shortly after another may well be served first: the requests raced.
constexpr Duration kRace = std::chrono::milliseconds(50);

bool is_evidence(EventKind kind) {
  switch (kind) {
    case EventKind::believed:
    case EventKind::renewed:
    case EventKind::read:
    case EventKind::sent:
    case EventKind::wrote:
    case EventKind::barred:
    case EventKind::unclear: return true;
    default: return false;
  }
}

bool is_end(EventKind kind) {
  return kind == EventKind::releasing || kind == EventKind::doubted || kind == EventKind::died;
}

Answer yes_if(bool condition) { return condition ? Answer::yes : Answer::no; }

// A write whose outcome nobody knows may have been the one that does harm.
bool any_unclear(const History& history, Fence fence) {
  return std::ranges::any_of(history, [&](const Event& event) {
    if (event.kind != EventKind::unclear) return false;
    const auto resource = ResourceId::parse(event.resource);
    return resource && resource->fence == fence;
  });
}

// Somebody without a token was at the resources: at those with a fence he could not be.
bool tokens_are_missing(const History& history) {
  std::set<std::string> without;
  for (const Event& event : history) {
    if (event.kind == EventKind::granted && event.token == 0) without.insert(event.who);
    const bool acts = event.kind == EventKind::read || event.kind == EventKind::wrote;
    if (acts && without.contains(event.who)) return true;
  }
  return false;
}

Answer harm(const Diagnosis& finding, const History& history, Fence fence) {
  for (const LostUpdate& update : finding.lost_updates) {
    if (update.resource.fence == fence) return Answer::yes;
  }
  if (fence != Fence::none && tokens_are_missing(history)) return Answer::unknown;
  return any_unclear(history, fence) ? Answer::unknown : Answer::no;
}

void look_at_the_end(const History& history, Diagnosis& finding) {
  std::optional<BootTime> healed;
  for (const Event& event : history) {
    if (event.kind == EventKind::heal) healed = event.at;
    if (event.kind == EventKind::stranded) finding.verdict.stranded = Answer::yes;
    if (event.kind == EventKind::probed) {
      if (finding.verdict.stranded == Answer::unknown) finding.verdict.stranded = Answer::no;
      finding.until_progress = event.at - healed.value_or(event.at);
    }
    if (event.kind == EventKind::refused && event.text == "stalled") {
      finding.verdict.stalled = Answer::yes;
    }
  }
}

}  // namespace

Duration Overlap::length() const {
  return std::min(first.until, second.until) - std::max(first.from, second.from);
}

std::vector<Belief> beliefs_in(const History& history) {
  std::vector<Belief> beliefs;
  std::map<std::string, BootTime> asked;
  std::map<std::string, std::size_t> present;  // where it is in `beliefs`
  for (const Event& event : history) {
    if (event.kind == EventKind::asked) asked[event.who] = event.at;
    if (event.kind == EventKind::granted) {
      present[event.who] = beliefs.size();
      const auto since = asked.find(event.who);
      const BootTime begin = since == asked.end() ? event.at : since->second;
      beliefs.push_back({event.who, event.token, begin, event.at, event.at, event.shared});
      continue;
    }
    const auto mine = present.find(event.who);
    if (mine == present.end()) continue;
    if (is_end(event.kind)) {
      present.erase(mine);
    } else if (is_evidence(event.kind)) {
      // lost() does not end it by itself: who acts after it has not listened, and does the harm.
      beliefs[mine->second].until = event.at;
    }
  }
  return beliefs;
}

std::vector<Overlap> overlaps_among(std::vector<Belief> beliefs) {
  std::ranges::stable_sort(beliefs, {}, &Belief::from);
  std::vector<Overlap> overlaps;
  std::vector<const Belief*> open;
  for (const Belief& belief : beliefs) {
    std::erase_if(open, [&](const Belief* other) { return other->until <= belief.from; });
    for (const Belief* other : open) {
      // A grant that nobody acted on has no length and overlaps nothing.
      const bool together = belief.shared && other->shared;
      if (belief.until > belief.from && !together) overlaps.push_back({*other, belief});
    }
    open.push_back(&belief);
  }
  return overlaps;
}

std::vector<LostUpdate> lost_updates_in(const History& history) {
  std::vector<LostUpdate> lost;
  std::map<std::string, std::int64_t> last;
  for (const Event& event : history) {
    if (event.kind != EventKind::wrote) continue;
    const auto resource = ResourceId::parse(event.resource);
    if (!resource) continue;
    std::int64_t& present = last[event.resource];
    if (event.value <= present) {
      lost.push_back({*resource, event.who, event.value, present, event.at});
    }
    // A log keeps both entries; the next one builds on the higher.
    present = resource->log ? std::max(present, event.value) : event.value;
  }
  return lost;
}

std::vector<std::string> token_troubles_in(const std::vector<Belief>& beliefs) {
  std::vector<std::string> troubles;
  std::map<std::uint64_t, std::string> owners;
  std::vector<const Belief*> by_asking;
  for (const Belief& belief : beliefs) {
    if (belief.token == 0) continue;  // a recipe without tokens
    const auto [owner, is_new] = owners.emplace(belief.token, belief.who);
    if (!is_new) {
      troubles.push_back(owner->second + " and " + belief.who + " both got token " +
                         std::to_string(belief.token));
    }
    by_asking.push_back(&belief);
  }
  std::vector<const Belief*> by_grant = by_asking;
  std::ranges::stable_sort(by_asking, {}, &Belief::asked);
  std::ranges::stable_sort(by_grant, {}, &Belief::from);
  const Belief* highest =
      nullptr;  // of those that were granted before the present one was asked for
  auto next = by_grant.begin();
  for (const Belief* belief : by_asking) {
    for (; next != by_grant.end() && (*next)->from < belief->asked; ++next) {
      if (highest == nullptr || (*next)->token > highest->token) highest = *next;
    }
    if (highest != nullptr && belief->token < highest->token) {
      troubles.push_back(belief->who + " got " + std::to_string(belief->token) + " after " +
                         highest->who + " had got " + std::to_string(highest->token));
    }
  }
  return troubles;
}

std::vector<std::string> token_troubles_at_fences(const History& history) {
  struct Seen {
    std::uint64_t writer = 0;  // the highest exclusive token
    std::uint64_t highest = 0;
    std::map<std::uint64_t, std::string> owners;
  };
  std::vector<std::string> troubles;
  std::map<std::string, Seen> resources;
  for (const Event& event : history) {
    if (event.kind != EventKind::read && event.kind != EventKind::wrote) continue;
    const auto resource = ResourceId::parse(event.resource);
    if (!resource || resource->fence == Fence::none || event.token == 0) continue;
    if (resource->fence == Fence::writes_only && event.kind == EventKind::read) continue;
    Seen& seen = resources[event.resource];
    const std::string token = std::to_string(event.token);
    const std::uint64_t limit = event.shared ? seen.writer : seen.highest;
    if (event.token < limit) {
      troubles.push_back(event.resource + " let in " + event.who + " with " + token + " after " +
                         std::to_string(limit));
    }
    if (!event.shared) seen.writer = std::max(seen.writer, event.token);
    seen.highest = std::max(seen.highest, event.token);
    const auto [owner, is_new] = seen.owners.emplace(event.token, event.who);
    if (!is_new && owner->second != event.who) {
      troubles.push_back(event.resource + " let in " + owner->second + " and " + event.who +
                         " with the same token " + token);
    }
  }
  return troubles;
}

std::vector<Overtaking> overtakings_in(const History& history) {
  struct Served {
    std::string who;
    BootTime asked;
    BootTime granted;
  };
  std::vector<Served> served;
  std::map<std::string, BootTime> asked;
  std::map<std::string, bool> hindered;  // it was stopped or cut off while it waited
  for (const Event& event : history) {
    if (event.kind == EventKind::asked) {
      asked[event.who] = event.at;
      hindered[event.who] = false;
    } else if (event.kind == EventKind::paused) {
      hindered[event.who] = true;
    } else if (event.kind == EventKind::granted && asked.contains(event.who)) {
      if (!hindered[event.who]) served.push_back({event.who, asked[event.who], event.at});
      asked.erase(event.who);
    }
  }
  std::vector<Overtaking> found;
  std::ranges::stable_sort(served, {}, &Served::asked);
  for (auto early = served.begin(); early != served.end(); ++early) {
    for (auto late = early + 1; late != served.end() && late->asked < early->granted; ++late) {
      if (late->asked - early->asked > kRace && late->granted < early->granted) {
        found.push_back({early->who, late->who, late->asked - early->asked});
      }
    }
  }
  return found;
}

Diagnosis check(const History& history) {
  Diagnosis finding;
  finding.beliefs = beliefs_in(history);
  finding.overlaps = overlaps_among(finding.beliefs);
  finding.lost_updates = lost_updates_in(history);
  finding.token_troubles = token_troubles_in(finding.beliefs);
  std::ranges::move(token_troubles_at_fences(history), std::back_inserter(finding.token_troubles));
  finding.overtakings = overtakings_in(history);
  finding.verdict.overlap = yes_if(!finding.overlaps.empty());
  finding.verdict.harm_unfenced = harm(finding, history, Fence::none);
  finding.verdict.harm_write_fenced = harm(finding, history, Fence::writes_only);
  finding.verdict.harm_fenced = harm(finding, history, Fence::full);
  finding.verdict.token_order = yes_if(!finding.token_troubles.empty());
  finding.verdict.overtaken = yes_if(!finding.overtakings.empty());
  look_at_the_end(history, finding);
  for (const Belief& belief : finding.beliefs) {
    finding.longest_wait = std::max(finding.longest_wait, belief.from - belief.asked);
  }
  const auto count = [&](EventKind kind) {
    return static_cast<std::uint64_t>(std::ranges::count(history, kind, &Event::kind));
  };
  finding.grants = count(EventKind::granted);
  finding.accepted = count(EventKind::wrote);
  finding.barred = count(EventKind::barred);
  return finding;
}

}  // namespace holdfast::lab
