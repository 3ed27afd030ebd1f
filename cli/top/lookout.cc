#include "top/lookout.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <utility>

namespace holdfast::cli::top {

struct Lookout::Mailbox {
  Mailbox() : bell(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (bell < 0) {
      throw LockError(Failure(Code::unreachable,
                              "this process may not open more files: raise its limit (ulimit -n)"));
    }
  }
  ~Mailbox() { close(bell); }
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;

  template <class T>
  void put(std::vector<T>& box, T letter) {
    const std::lock_guard guard(mutex);
    box.push_back(std::move(letter));
    const std::uint64_t one = 1;
    // It fails only if it has rung so often that it rings anyway.
    [[maybe_unused]] const ssize_t rung = write(bell, &one, sizeof one);
  }
  template <class T>
  std::vector<T> take(std::vector<T>& box) {
    const std::lock_guard guard(mutex);
    std::uint64_t count = 0;
    [[maybe_unused]] const ssize_t silenced = read(bell, &count, sizeof count);
    return std::exchange(box, {});
  }

  const int bell;
  std::mutex mutex;
  std::vector<Answer> answers;
  std::vector<std::string> messages;
};

std::vector<std::string> names_of(const std::vector<OpenPlace>& places) {
  std::vector<std::string> names;
  for (const OpenPlace& each : places) names.push_back(each.place.name);
  return names;
}

Lookout::Lookout(std::vector<OpenPlace>& places, std::chrono::milliseconds interval)
    : places_(places),
      interval_(interval),
      mailbox_(std::make_shared<Mailbox>()),
      asked_(places.size()) {}

Lookout::~Lookout() = default;

int Lookout::descriptor() const { return mailbox_->bell; }

std::vector<std::size_t> Lookout::ask(Clock::time_point now) {
  std::vector<std::size_t> asked;
  for (std::size_t i = 0; i < places_.size(); ++i) {
    if (asked_[i].owes || asked_[i].due > now) continue;
    asked_[i].owes = true;
    asked.push_back(i);
    const auto answer = [mailbox = mailbox_, i, now](Result<std::vector<LockInfo>> locks) {
      mailbox->put(mailbox->answers, Answer{i, std::move(locks), now, Clock::now()});
    };
    try {
      places_[i].client.async_list().then(answer);
    } catch (const LockError& error) {  // It was not begun.
      answer(error.failure());
    }
  }
  return asked;
}

std::vector<Lookout::Answer> Lookout::take_answers() {
  std::vector<Answer> answers = mailbox_->take(mailbox_->answers);
  for (const Answer& each : answers) {
    const auto pause = std::max<Clock::duration>(interval_, 10 * (each.ended - each.begun));
    asked_[each.engine] = {.owes = false, .due = each.ended + pause};
  }
  return answers;
}

std::vector<std::string> Lookout::take_messages() { return mailbox_->take(mailbox_->messages); }

Lookout::Clock::time_point Lookout::next() const {
  Clock::time_point next = Clock::time_point::max();
  for (const Asked& each : asked_) {
    if (!each.owes) next = std::min(next, each.due);
  }
  return next;
}

bool Lookout::owes() const { return std::ranges::any_of(asked_, &Asked::owes); }

void Lookout::break_lock(std::size_t engine, const Name& name, Token token) {
  const auto tell = [mailbox = mailbox_, token,
                     where = name.display()](const Result<void>& outcome) {
    mailbox->put(mailbox->messages, outcome ? "broken: " + where + ", token " + token.str()
                                            : "not broken: " + for_terminal(outcome.message()));
  };
  // It is to be seen at once.
  asked_[engine].due = {};
  try {
    places_[engine].client.async_evict(name, token).then(tell);
  } catch (const LockError& error) {
    tell(error.failure());
  }
}

}  // namespace holdfast::cli::top
