#include "holdfast/log.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "base/passing_observer.h"
#include "holdfast/text.h"
#include "log/line.h"
#include "log/standard_error.h"

namespace holdfast {
namespace {

constexpr std::array kLevels{LogLevel::error, LogLevel::warn, LogLevel::info, LogLevel::debug};

BootTime boot_now() {
  return BootClock::now();  // layers: allow(clock) an observer has no Runtime
}

std::uint64_t whole_ms(Duration span) {
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(span).count();
  return ms < 0 ? 0 : static_cast<std::uint64_t>(ms);
}

// Nobody did anything wrong: a lock was held by somebody else, or is not wanted any more.
LogLevel level_of_refusal(Code code) {
  return code == Code::busy || code == Code::cancelled ? LogLevel::info : LogLevel::error;
}

LogLevel level_of(ServerEventKind kind) {
  switch (kind) {
    case ServerEventKind::connected:
    case ServerEventKind::reconnected: return LogLevel::info;
    case ServerEventKind::disconnected:
    case ServerEventKind::connect_failed: return LogLevel::warn;
    case ServerEventKind::error: return LogLevel::error;
  }
  return LogLevel::error;
}

class LogObserver final : public internal::PassingObserver {
 public:
  LogObserver(std::string_view engine, LogOptions options, std::shared_ptr<Observer> next)
      : PassingObserver(std::move(next)),
        engine_(printable(engine, kLongestEngine)),
        options_(std::move(options)) {
    if (!options_.clock) options_.clock = boot_now;
  }

  void on_wait(const Claim& claim) override {
    tell(LogLevel::debug, "wait", claim);
    PassingObserver::on_wait(claim);
  }
  void on_retry(const Claim& claim, const Failure& why) override {
    tell(LogLevel::debug, "retry", claim, {.why = &why});
    PassingObserver::on_retry(claim, why);
  }
  void on_granted(const Hold& hold, BootTime valid_until) override {
    tell(LogLevel::info, "granted", hold.claim,
         {.token = hold.token, .valid_until = valid_until, .ends_wait = true});
    PassingObserver::on_granted(hold, valid_until);
  }
  void on_refused(const Claim& claim, const Failure& why) override {
    tell(level_of_refusal(why.code()), "refused", claim, {.why = &why, .ends_wait = true});
    PassingObserver::on_refused(claim, why);
  }
  void on_renewed(const Hold& hold, BootTime valid_until) override {
    tell(LogLevel::debug, "renewed", hold.claim, {.token = hold.token, .valid_until = valid_until});
    PassingObserver::on_renewed(hold, valid_until);
  }
  void on_renewal_failed(const Hold& hold, const Failure& why) override {
    tell(LogLevel::warn, "renewal_failed", hold.claim, {.token = hold.token, .why = &why});
    PassingObserver::on_renewal_failed(hold, why);
  }
  void on_lost(const Hold& hold, BootTime valid_until) override {
    tell(LogLevel::warn, "lost", hold.claim, {.token = hold.token, .valid_until = valid_until});
    PassingObserver::on_lost(hold, valid_until);
  }
  void on_released(const Hold& hold, const Result<bool>& how) override {
    if (!how) {
      tell(LogLevel::warn, "release_failed", hold.claim,
           {.token = hold.token, .why = &how.failure()});
    } else {
      tell(LogLevel::info, *how ? "released" : "not_held", hold.claim, {.token = hold.token});
    }
    PassingObserver::on_released(hold, how);
  }
  void on_server(const ServerEvent& event) override {
    std::vector<LogField> fields{{"engine", engine_}, {"server", event.server}};
    if (event.why) add_reason(fields, *event.why);
    log_line(options_, level_of(event.kind), server_event_name(event.kind), fields);
    PassingObserver::on_server(event);
  }
  void on_warning(const std::string& text) override {
    const std::array<LogField, 2> fields{{{"engine", engine_}, {"reason", text}}};
    log_line(options_, LogLevel::warn, "warning", fields);
    PassingObserver::on_warning(text);
  }

 private:
  static constexpr std::size_t kLongestEngine = 200;
  static constexpr std::size_t kLongestName = 512;

  struct Details {
    std::optional<Token> token{};
    std::optional<BootTime> valid_until{};
    const Failure* why = nullptr;
    bool ends_wait = false;
  };

  static void add_reason(std::vector<LogField>& fields, const Failure& why) {
    fields.push_back({"code", code_name(why.code())});
    fields.push_back({"reason", why.message()});
  }

  void tell(LogLevel level, std::string_view event, const Claim& claim) {
    tell(level, event, claim, Details());
  }
  void tell(LogLevel level, std::string_view event, const Claim& claim, const Details& details) {
    if (level > options_.level) return;  // Before anything is written: nearly always.
    const std::string name = printable(claim.name.bytes(), kLongestName);
    const ClaimId::Digits call = claim.call.digits();
    const ClaimId::Digits attempt = claim.id.digits();
    std::vector<LogField> fields{
        {"engine", engine_}, {"name", name}, {"mode", mode_name(claim.mode)}};
    // An adopted hold has no call.
    const bool own_call = claim.call != ClaimId();
    fields.push_back({"claim", std::string_view(own_call ? call : attempt)});
    if (own_call && claim.id != claim.call)
      fields.push_back({"attempt", std::string_view(attempt)});
    if (!claim.owner.empty()) fields.push_back({"owner", claim.owner});
    if (details.token) fields.push_back({"token", details.token->value()});
    const BootTime now = options_.clock();
    if (details.ends_wait && claim.since != BootTime()) {
      fields.push_back({"waited_ms", whole_ms(now - claim.since)});
    }
    if (details.valid_until) fields.push_back({"valid_ms", whole_ms(*details.valid_until - now)});
    if (details.why) add_reason(fields, *details.why);
    log_line(options_, level, event, fields);
  }

  const std::string engine_;
  LogOptions options_;
};

Failure wrong_value(const std::string& variable, const std::string& value,
                    const std::string& allowed) {
  return {Code::misconfigured,
          variable + " is '" + printable(value, 40) + "'; it can be " + allowed};
}

// Set, and not empty.
std::optional<std::string> variable(const char* name) {
  const char* value = std::getenv(name);
  if (!value || !*value) return std::nullopt;
  return value;
}

}  // namespace

const char* log_level_name(LogLevel level) {
  switch (level) {
    case LogLevel::error: return "error";
    case LogLevel::warn: return "warn";
    case LogLevel::info: return "info";
    case LogLevel::debug: return "debug";
  }
  return "?";
}

std::shared_ptr<Observer> log_observer(std::string_view engine, LogOptions options,
                                       std::shared_ptr<Observer> next) {
  return std::make_shared<LogObserver>(engine, std::move(options), std::move(next));
}

Result<std::optional<LogOptions>> log_from_environment(std::optional<LogLevel> level) {
  const std::optional<std::string> wanted = variable("HOLDFAST_LOG");
  const std::optional<std::string> format = variable("HOLDFAST_LOG_FORMAT");
  if (!level && !wanted) return std::optional<LogOptions>();
  LogOptions options;
  if (level) {
    options.level = *level;
  } else {
    const auto* known = std::ranges::find(kLevels, *wanted, log_level_name);
    if (known == kLevels.end())
      return wrong_value("HOLDFAST_LOG", *wanted, "error, warn, info or debug");
    options.level = *known;
  }
  if (format && *format != "json" && *format != "text") {
    return wrong_value("HOLDFAST_LOG_FORMAT", *format, "text or json");
  }
  if (format == "json") options.format = LogFormat::json;
  return std::optional(std::move(options));
}

void log_line(const LogOptions& options, LogLevel level, std::string_view event,
              std::span<const LogField> fields) noexcept {
  if (level > options.level) return;
  try {
    const auto now =
        std::chrono::system_clock::now();  // layers: allow(clock) the time that people know
    std::string line = internal::log_text(options.format, {level, event, fields, now});
    if (options.sink) {
      options.sink(level, line);
    } else {
      internal::write_or_drop(STDERR_FILENO, std::move(line), options.format);
    }
  } catch (...) {  // No memory, or a sink that throws: a line less, not a lock less.
  }
}

}  // namespace holdfast
