#include "protocol.h"

namespace holdfast::model {
namespace {

std::string node_name(int n) { return "n" + std::to_string(n + 1); }

std::string nodes_in(int set) {
  std::string text;
  for (int n = 0; n < kMaxNodes; ++n) {
    if ((set >> n & 1) != 0) text += (text.empty() ? "" : ", ") + node_name(n);
  }
  return text.empty() ? "nobody" : text;
}

std::string accepted_text(const Step& step) {
  std::string text = step.accepted ? "accepted" : "not accepted";
  if (step.granted != 0)
    text += "; " + std::string(1, name_of(step.claim)) + " is granted token " +
            std::to_string(step.granted);
  return text;
}

}  // namespace

char name_of(Claim claim) { return static_cast<char>('A' + claim - 1); }

std::string sentence(const Step& step) {
  const std::string who(1, step.claim == 0 ? '?' : name_of(step.claim));
  const std::string where = step.node < 0 ? "" : node_name(step.node);
  const std::string token = std::to_string(step.token);
  const std::string epoch = std::to_string(step.epoch);
  const std::string heir =
      step.next == 0 ? "" : ", reserved for " + std::string(1, name_of(step.next));
  switch (step.kind) {
    case Kind::kBegin:
      return who + " begins: votes for token " + token + " are on their way to all nodes";
    case Kind::kVote:
      return where + " executes " + who + "'s vote for " + token + " in epoch " + epoch +
             ": locked, " + accepted_text(step);
    case Kind::kFence:
      return where + " executes " + who + "'s fence step " + token + " in epoch " + epoch + ": " +
             accepted_text(step);
    case Kind::kConfirm:
      return where + " votes once more for " + who + ", which was granted " + token;
    case Kind::kExpire: return "the word of " + who + " ends on " + where + heir;
    case Kind::kGiveUp: return who + " is done or gives up: releases are on their way to all nodes";
    case Kind::kRetry: return who + " tries again under the same claim id";
    case Kind::kRelease: return where + " executes a release of " + who + heir;
    case Kind::kWipe: return where + " restarts empty";
    case Kind::kRejoin: return where + " begins to rejoin in epoch " + epoch;
    case Kind::kRaise: return where + " is raised to epoch " + epoch;
    case Kind::kRead:
      return "the rejoin of " + where + " reads F = " + token + " from " + node_name(step.other);
    case Kind::kCopy: return "somebody copies the data of " + where;
    case Kind::kRestart: return where + " restarts with its data";
    case Kind::kRestore:
      return where + " restarts with the copy: epoch " + epoch + ", F = " + token;
    case Kind::kRefound:
      return nodes_in(step.other) + " begin to rejoin together in epoch " + epoch;
    case Kind::kAdopt:
      return where + " reads F = " + token + " from itself and " + nodes_in(step.other);
    case Kind::kOpen: return where + " opens in epoch " + epoch + " with F = " + token;
  }
  return "?";
}

}  // namespace holdfast::model
