#include "holdfast/result.h"

#include "base/eternal.h"
#include "base/text.h"

namespace holdfast {

const char* code_name(Code code) {
  switch (code) {
    case Code::busy: return "busy";
    case Code::unknown: return "unknown";
    case Code::cancelled: return "cancelled";
    case Code::not_held: return "not_held";
    case Code::invalid_argument: return "invalid_argument";
    case Code::unsupported: return "unsupported";
    case Code::misconfigured: return "misconfigured";
    case Code::unreachable: return "unreachable";
    case Code::forked: return "forked";
    case Code::closed: return "closed";
    case Code::would_deadlock: return "would_deadlock";
    case Code::stale_token: return "stale_token";
    case Code::exhausted: return "exhausted";
  }
  return "?";
}

Failure::Failure(Code code, std::string message) : code_(code), message_(std::move(message)) {
  make_printable(message_);
}

Failure Failure::busy(Busy who) {
  constexpr std::size_t kMaxLabel = 256;
  who.holder = printable(who.holder, kMaxLabel);
  std::string message = who.lock.empty() ? "held by " : "'" + who.lock + "' is held by ";
  message += who.holder.empty() ? "somebody else" : who.holder;
  if (who.token != 0) message += " with token " + std::to_string(who.token);
  if (who.rank > 0) message += ", " + std::to_string(who.rank) + " waiting before us";
  if (who.expires_in) message += ", ends or is renewed within " + duration_text(*who.expires_in);
  Failure failure(Code::busy, std::move(message));
  failure.busy_ = std::make_shared<const Busy>(std::move(who));
  return failure;
}

const std::string& internal::no_message() {
  static const Eternal<std::string> none{std::string()};
  return *none;
}

}  // namespace holdfast
