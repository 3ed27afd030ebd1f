#include "holdfast/print.h"

#include "base/text.h"

namespace holdfast {

std::string to_string(const Token& token) { return token.str(); }
std::string to_string(const ClaimId& id) { return id.hex(); }
std::string to_string(const Ticket& ticket) {
  return ticket.token.str() + ' ' + mode_name(ticket.mode);
}
std::string to_string(Duration span) { return duration_text(span); }
std::string to_string(Mode mode) { return mode_name(mode); }
std::string to_string(Code code) { return code_name(code); }
std::string to_string(Exclusion value) { return to_text(value); }
std::string to_string(TokenStrength value) { return to_text(value); }
std::string to_string(WakeUp value) { return to_text(value); }
std::string to_string(Fairness value) { return to_text(value); }
std::string to_string(Severity value) { return to_text(value); }
std::string to_string(const Failure& failure) {
  return std::string(code_name(failure.code())) + ": " + failure.message();
}

std::string to_string(Outcome outcome) {
  switch (outcome) {
    case Outcome::granted: return "granted";
    case Outcome::busy: return "busy";
    case Outcome::unknown: return "unknown";
    case Outcome::error: return "error";
  }
  return "?";
}

}  // namespace holdfast
