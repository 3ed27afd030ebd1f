#include "base/known_server.h"

#include <algorithm>
#include <charconv>

#include "base/text.h"

namespace holdfast::internal {

std::string sentence_of(const Finding& finding) {
  return finding.mend.empty() ? finding.what : finding.what + "; " + finding.mend;
}

Guarantees lowered(Guarantees promised, const std::vector<Finding>& findings) {
  for (Finding finding : findings) {
    if (finding.severity == Severity::unfit) {
      finding.exclusion = Exclusion::best_effort;
      finding.token = TokenStrength::none;
    }
    bool lowers = false;
    if (finding.exclusion && *finding.exclusion < promised.exclusion) {
      promised.exclusion = *finding.exclusion;
      lowers = true;
    }
    if (finding.token && *finding.token < promised.token) {
      promised.token = *finding.token;
      lowers = true;
    }
    if (!lowers) continue;
    if (!promised.lowered_because.empty()) promised.lowered_because += "; ";
    promised.lowered_because += sentence_of(finding);
  }
  promised.of_server = true;
  return promised;
}

const Finding* why_unfit(const Examination& found) {
  for (const Finding& finding : found.findings) {
    if (finding.severity == Severity::unfit) return &finding;
  }
  return nullptr;
}

Result<void> fit(const Examination& found) {
  const Finding* why = why_unfit(found);
  if (!why) return {};
  const std::string where = found.server.empty() ? "" : found.server + ": ";
  return Failure(Code::misconfigured, where + sentence_of(*why));
}

KnownServer::KnownServer(Guarantees promised) : promised_(std::move(promised)) {
  all_.push_back(promised_);
  now_ = &all_.back();
}

Result<void> KnownServer::learn(Examination found) {
  found.guarantees = lowered(promised_, found.findings);
  auto known = std::find(all_.begin(), all_.end(), found.guarantees);
  if (known == all_.end()) known = all_.insert(all_.end(), found.guarantees);
  now_.store(&*known, std::memory_order_release);
  last_ = std::move(found);
  return fit(*last_);
}

VersionNumber VersionNumber::parse(std::string_view text) {
  VersionNumber version;
  const char* at = text.data();
  const char* const end = at + text.size();
  for (int* part : {&version.major_number, &version.minor_number, &version.patch}) {
    const auto number = std::from_chars(at, end, *part);
    if (number.ec != std::errc()) break;
    at = number.ptr;
    if (at == end || *at != '.') break;
    ++at;
  }
  return version;
}

ClockDifference clock_difference(Duration told, WallTime asked, WallTime heard, Duration unit) {
  const Duration before = asked.time_since_epoch();
  const Duration after = heard.time_since_epoch();
  // The value is cut off, not rounded.
  const Duration middle = before + (after - before) / 2;
  return {.ahead = told + unit / 2 - middle, .error = (after - before) / 2 + unit / 2};
}

Finding clock_finding(const ClockDifference& clock, bool tokens_follow_it) {
  constexpr Duration kNoticeable = std::chrono::seconds(2);
  const Duration off = clock.ahead < Duration::zero() ? -clock.ahead : clock.ahead;
  const std::string text = "its clock is " + duration_text(off) +
                           (clock.ahead < Duration::zero() ? " behind ours" : " ahead of ours") +
                           ", give or take " + duration_text(clock.error);
  if (off <= kNoticeable + clock.error) return {Severity::good, "clock", text, ""};
  return {Severity::warning, "clock",
          text + (tokens_follow_it ? "; a jump ahead ends locks early, and tokens follow that clock"
                                   : "; a jump ahead ends locks early"),
          "run NTP on both machines, and let it slew the clock (chronyd without makestep)"};
}

}  // namespace holdfast::internal
