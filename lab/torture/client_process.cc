#include "lab/torture/client_process.h"

#include <csignal>
#include <iostream>
#include <map>
#include <memory>
#include <random>
#include <sstream>
#include <thread>
#include <utility>
#include <vector>

#include "lab/torture/contender.h"
#include "lab/torture/resource.h"

namespace holdfast::lab {
namespace {

using namespace std::chrono_literals;
using Millis = std::chrono::milliseconds;

// The resources of one sheet, and what this client read there.
struct Desk {
  struct Access {
    std::unique_ptr<Resource> resource;
    std::optional<std::int64_t> seen;
  };
  std::vector<Access> accesses;
  bool read = false;
};

class ClientProcess {
 public:
  std::string obey(const std::string& text) {
    std::istringstream line(text);
    std::string verb;
    line >> verb;
    if (verb == "open") return open(line);
    if (!contender_) return "failed nothing is open";
    if (verb == "acquire") return acquire(line);
    if (verb == "held") return check() ? "yes" : "no";
    if (verb == "step") return step(line);
    if (verb == "send") return send(line);
    if (verb == "stop") return stop_at(rest_of(line));
    if (verb == "release") return release();
    if (verb == "contend") return contend(line);
    if (verb == "stop-between") {
      stop_between_ = word(line) == "on";
      return "ok";
    }
    return "failed what is " + verb;
  }

 private:
  static std::string word(std::istringstream& line) {
    std::string text;
    line >> text;
    return text;
  }
  static std::string rest_of(std::istringstream& line) {
    std::string text;
    std::getline(line >> std::ws, text);
    return text;
  }
  static std::int64_t number(std::istringstream& line) {
    std::int64_t value = 0;
    line >> value;
    return value;
  }

  void add(EventKind kind, const std::string& text = {}) {
    history_->add(
        {.who = name_, .kind = kind, .token = token_.value(), .text = text, .shared = shared_});
  }

  std::string open(std::istringstream& line) {
    name_ = word(line);
    folder_ = word(line);
    const std::string lock = word(line);
    const std::string recipe = word(line);
    const std::string url = rest_of(line);
    history_ = std::make_unique<HistoryFile>(folder_ / "history");
    contender_ = make_contender(
        recipe, url, lock,
        // These come on a thread of the library's.
        {.renewed = [this] { history_->add({.who = name_, .kind = EventKind::renewed}); },
         .lost = [this] { history_->add({.who = name_, .kind = EventKind::lost}); }},
        [this] {
          if (stop_between_) stop_at("between SETNX and EXPIRE");
        });
    return "ready";
  }

  std::string acquire(std::istringstream& line) {
    Ask ask;
    ask.ttl = Millis(number(line));
    ask.patience = Millis(number(line));
    ask.renew = word(line) == "renew";
    ask.shared = word(line) == "shared";
    return acquire(ask);
  }

  std::string acquire(const Ask& ask) {
    token_ = Token();
    shared_ = ask.shared;
    desks_.clear();
    add(EventKind::asked);
    const Result<Token> token = contender_->acquire(ask);
    if (!token) {
      add(EventKind::refused, code_name(token.code()));
      return code_name(token.code());
    }
    token_ = *token;
    add(EventKind::granted);
    return "granted " + token_.str();
  }

  bool check() {
    const bool yes = contender_->held();
    add(yes ? EventKind::believed : EventKind::doubted);
    return yes;
  }

  Desk& desk(const std::string& sheet) {
    Desk& desk = desks_[sheet];
    if (!desk.accesses.empty()) return desk;
    for (const Fence fence : kFences) {
      if (fence != Fence::none && token_ == Token()) continue;  // a recipe without tokens
      for (const bool log : {false, true}) {
        const ResourceId id{sheet, fence, log};
        desk.accesses.push_back({std::make_unique<Resource>(folder_, id, *history_), {}});
      }
    }
    return desk;
  }

  void read_all(Desk& desk) {
    for (Desk::Access& access : desk.accesses) access.seen = access.resource->read(name_, token_);
    desk.read = true;
  }
  void write_all(Desk& desk) {
    for (Desk::Access& access : desk.accesses) {
      if (access.seen) access.resource->write(name_, token_, *access.seen + 1);
    }
  }

  std::string step(std::istringstream& line) {
    const std::string sheet = word(line);
    if (word(line) == "checked" && !check()) return "not-held";
    Desk& mine = desk(sheet);
    mine.read ? write_all(mine) : read_all(mine);
    return "ok";
  }

  std::string send(std::istringstream& line) {
    Desk& mine = desk(word(line));
    if (!check()) return "not-held";
    add(EventKind::sent);
    std::string answer = "sent " + token_.str();
    for (const Desk::Access& access : mine.accesses) {
      if (!access.seen) continue;
      answer += " " + access.resource->id().text() + " " + std::to_string(*access.seen + 1);
    }
    return answer;
  }

  std::string stop_at(const std::string& point) {
    add(EventKind::paused, point);
    ::raise(SIGSTOP);
    add(EventKind::resumed);
    return "continued";
  }

  std::string release() {
    add(EventKind::releasing);
    const Result<void> result = contender_->release();
    add(EventKind::released, result ? "" : code_name(result.code()));
    return result ? "ok" : code_name(result.code());
  }

  std::string contend(std::istringstream& line) {
    const BootTime end = BootClock::now() + Millis(number(line));
    const Duration ttl = Millis(number(line));
    std::mt19937_64 dice(static_cast<std::uint64_t>(number(line)));
    const auto pauses = static_cast<std::uint64_t>(number(line));
    Duration turn = Millis(number(line));
    const std::int64_t section_ms = std::max<std::int64_t>(number(line), 5);
    const std::int64_t gap_ms = std::max<std::int64_t>(number(line), 3);
    const auto up_to = [&](std::int64_t ms) {
      return Millis(dice() % static_cast<std::uint64_t>(ms));
    };
    const auto may_stop = [&](const char* point) {
      if (dice() % 1000 < pauses) stop_at(point);
    };
    std::int64_t sections = 0;
    while (BootClock::now() < end) {
      const Duration left = std::max<Duration>(end - BootClock::now(), 100ms);
      const std::string answer = acquire({.ttl = ttl, .patience = left});
      if (!answer.starts_with("granted")) {
        std::this_thread::sleep_for(20ms);
        continue;
      }
      const BootTime turn_end = BootClock::now() + std::exchange(turn, Duration::zero());
      do {
        may_stop("before its check");
        if (!check()) break;
        desks_.clear();
        Desk& mine = desk("turns");
        read_all(mine);
        std::this_thread::sleep_for(up_to(section_ms));
        if (!check()) break;
        may_stop("after its check");
        write_all(mine);
        ++sections;
      } while (BootClock::now() < turn_end);
      release();
      std::this_thread::sleep_for(up_to(gap_ms));
    }
    return "done " + std::to_string(sections);
  }

  std::string name_;
  std::filesystem::path folder_;
  std::unique_ptr<HistoryFile> history_;
  Token token_;
  std::map<std::string, Desk> desks_;
  bool shared_ = false;
  bool stop_between_ = false;
  std::unique_ptr<Contender> contender_;  // last: its threads write the history
};

}  // namespace

int run_client_process(std::istream& in, std::ostream& out) {
  ClientProcess process;
  for (std::string line; std::getline(in, line);) {
    std::string answer;
    try {
      answer = process.obey(line);
    } catch (const std::exception& error) {
      answer = std::string("failed ") + error.what();
    }
    for (char& c : answer) {
      if (c == '\n') c = ' ';
    }
    out << answer << std::endl;
  }
  return 0;
}

}  // namespace holdfast::lab
