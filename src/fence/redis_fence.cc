#include "holdfast/redis_fence.h"

#include <charconv>

#include "base/real_runtime.h"
#include "base/text.h"
#include "base/unreachable_instead_of_unknown.h"
#include "base/url.h"
#include "engines/redis/command_executor.h"
#include "fence/mark.h"

namespace holdfast {

namespace {

using internal::RealRuntime;
using internal::Url;
using internal::fence::problem_with_write;
using internal::redis::CommandExecutor;
using internal::redis::Invocation;
using internal::redis::Keys;
using internal::redis::Node;
using internal::redis::Reply;
using internal::redis::Script;
using internal::redis::Settings;

// ---- Scripts -----------------------------------------------------------------------------------

// Only writes: before anything is looked at, or raised.
constexpr std::string_view kWritersOnly = R"lua(
if ARGV[2] ~= 'exclusive' then return {-1, 'only an exclusive token may write'} end
)lua";

// Runs before a token is checked, and writes nothing. Lua's numbers are doubles, exact
// up to 2^53 only, so tokens stay text: of two numbers without leading zeros the longer is higher.
//
// The mark's own key has the highest token of all: programs without modes know no other. The
// writer's key has the highest exclusive token and, behind it, the mark that it was written with;
// it counts only as long as that is the mark. In all other cases an exclusive token was the last to
// raise the mark, or a program without modes was.
constexpr std::string_view kLook = R"lua(
if #KEYS ~= 4 then return {-1, 'the keys are data, mark, lock and writer'} end
local data, mark_key, lock, writer_key = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local function number(text)
  return string.find(text, '^[1-9]%d*$') and
    (#text < 20 or (#text == 20 and text <= '18446744073709551615'))
end
local function below(one, other)
  return #one < #other or (#one == #other and one < other)
end
if redis.call('EXISTS', lock) == 1 then return {-1, 'lock'} end
for _, key in ipairs({data, mark_key, writer_key}) do
  local kind = redis.call('TYPE', key).ok
  if kind ~= 'none' and kind ~= 'string' then return {-1, key .. ' is a ' .. kind} end
end
local mark = redis.call('GET', mark_key) or '0'
if mark ~= '0' and not number(mark) then return {-1, mark_key .. ' is no mark'} end
local writer, kept = mark, redis.call('GET', writer_key)
if kept then
  local token, with = string.match(kept, '^(%d+) (%d+)$')
  if not token or (token ~= '0' and not number(token)) then
    return {-1, writer_key .. ' is no mark'}
  end
  if with == mark and below(token, mark) then writer = token end
end
)lua";

// Then the token is checked, and raises the mark.
constexpr std::string_view kAdmit = R"lua(
local token, mode = ARGV[1], ARGV[2]
if not token or not number(token) then return {-1, 'the token is no number above 0'} end
if mode == 'exclusive' then
  if below(token, mark) then return {0, mark} end
  if token ~= mark then redis.call('SET', mark_key, token) end
  if kept then redis.call('DEL', writer_key) end
  mark = token
elseif mode == 'shared' then
  if below(token, writer) then return {0, writer} end
  if below(mark, token) then
    redis.call('SET', mark_key, token)
    redis.call('SET', writer_key, writer .. ' ' .. token)
    mark = token
  end
else
  return {-1, 'the mode is neither exclusive nor shared'}
end
)lua";

const std::string& mark_script() {
  static const std::string source = std::string(kLook) + "return {1, mark}\n";
  return source;
}

// ---- Reading answers ---------------------------------------------------------------------------

std::optional<Token> token_in(const std::string& text) {
  std::uint64_t number = 0;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, number);
  if (parsed.ec != std::errc() || parsed.ptr != end) return std::nullopt;
  return Token(number);
}

std::string quoted(const std::string& key) { return "'" + printable(key, 100) + "'"; }

Failure unusable(const std::string& key, const std::string& reason) {
  if (reason == "lock") {
    return Failure(Code::invalid_argument,
                   quoted(key) +
                       " is the name of a lock too, and data there would destroy it: give "
                       "one of them another name, or another prefix=");
  }
  return Failure(Code::misconfigured, "the fence of " + quoted(key) +
                                          " cannot be used: " + printable(reason, 200) +
                                          "; nothing was changed, remove or rename what is there");
}

// Nothing if the token was admitted.
std::optional<Failure> refusal(const std::string& key, const Ticket& ticket, const Reply& reply) {
  const Reply& verdict = reply.at(0);
  if (verdict.kind == Reply::Kind::integer && verdict.number == 1) return std::nullopt;
  if (verdict.kind == Reply::Kind::integer && verdict.number == 0) {
    const bool shared = ticket.mode == Mode::shared;
    return Failure(Code::stale_token, (shared ? "shared token " : "token ") + ticket.token.str() +
                                          " is stale at " + quoted(key) + ": " +
                                          (shared ? "an exclusive" : "a") + " holder with token " +
                                          reply.at(1).text + " has been there");
  }
  const std::string& reason = reply.at(1).text;
  return unusable(key, reason.empty() ? "its answer makes no sense" : reason);
}

std::optional<Failure> problem_with(std::string_view key) {
  const auto problem = Name::problem_with(key);
  if (!problem) return std::nullopt;
  return Failure(Code::invalid_argument, "the key of fenced data: " + *problem);
}

}  // namespace

// ---- The loop and what is in it ----------------------------------------------------------------

struct RedisFence::Impl {
  struct Request {
    std::string key;  // prefix included
    std::optional<Ticket> ticket;
    std::optional<std::string> value;
  };

  Impl(const Settings& settings, std::shared_ptr<Observer> observer_of_warnings)
      : observer(std::move(observer_of_warnings)) {
    const RealRuntime::Inside inside(runtime);
    executor.emplace(runtime, settings,
                     internal::redis::ServersSettings{
                         .on_info = [this](const std::string& info) { check_memory(info); }});
  }

  static void destroy(Impl* impl);
  Task<void> stop();
  void check_memory(const std::string& info);
  Task<Result<CommandExecutor::Performed>> run(Script& script, const Request& request);
  Task<Result<void>> change(Request request);
  Task<Result<std::optional<std::string>>> read(Request request);
  Task<Result<Token>> look(Request request);

  std::string prefixed(std::string_view key) const {
    return executor->settings().prefix + std::string(key);
  }

  RealRuntime runtime;
  std::shared_ptr<Observer> observer;
  bool warned = false;
  Script set{set_script(), {}};
  Script get{get_script(), {}};
  Script mark{mark_script(), {}};
  std::optional<CommandExecutor> executor;
};

// Ends as a client's core does: see client/client.cc.
void RedisFence::Impl::destroy(Impl* impl) {
  if (impl->runtime.forked()) return;
  const auto end = [impl] {
    impl->runtime.finish_with(impl->stop());
    {
      const RealRuntime::Inside inside(impl->runtime);
      impl->executor.reset();
    }
    delete impl;
  };
  if (impl->runtime.inside() || impl->runtime.on_own_thread()) {
    RealRuntime::run_elsewhere(end);
  } else {
    end();
  }
}

Task<void> RedisFence::Impl::stop() {
  executor->servers().stop();
  co_return;
}

void RedisFence::Impl::check_memory(const std::string& info) {
  const std::optional<std::string> policy = internal::redis::evicting_policy(info);
  // A volatile-* policy spares keys without a time limit, and a mark has none.
  if (warned || !policy || policy->starts_with("volatile-")) return;
  warned = true;
  if (!observer) return;
  observer->on_warning(
      "this Redis may evict the marks of fences when its memory is full "
      "(maxmemory-policy " +
      printable(*policy) + "): an old token would then be admitted again. Set noeviction, " +
      "or use another server for fenced data");
}

Task<Result<CommandExecutor::Performed>> RedisFence::Impl::run(Script& script,
                                                               const Request& request) {
  if (internal::redis::looks_like_sibling(request.key)) {
    co_return Failure(Code::invalid_argument,
                      "the key " + quoted(request.key) + " is kept for keys of Holdfast's own");
  }
  const Keys keys = Keys::of_fenced(request.key);
  internal::redis::Words arguments;
  if (request.ticket) {
    arguments.add(request.ticket->token.str());
    arguments.add(mode_name(request.ticket->mode));
  }
  if (request.value) arguments.add(*request.value);
  const auto invocation_for = [&](Node&) { return Invocation{&script, &keys, arguments}; };
  const Deadline deadline = executor->request_deadline(Deadline::never());
  Result<CommandExecutor::Performed> performed =
      co_await executor->perform(keys, std::cref(invocation_for), false, deadline);
  if (!performed || !request.ticket) co_return performed;
  // A refusal need not be replicated: it is never wrong.
  if (refusal(request.key, *request.ticket, performed->answer.reply)) co_return performed;
  const Result<void> confirmed =
      co_await executor->replicated(*performed->node, performed->answer.generation, deadline);
  if (confirmed) co_return performed;
  co_return Failure(Code::unknown, "done, but perhaps not for good: " + confirmed.message());
}

Task<Result<void>> RedisFence::Impl::change(Request request) {
  const Result<CommandExecutor::Performed> performed = co_await run(set, request);
  if (!performed) co_return performed.failure();
  const auto refused = refusal(request.key, *request.ticket, performed->answer.reply);
  if (!refused) co_return Result<void>();
  // An attempt whose answer was lost may have been done before somebody newer came.
  if (performed->repeated && refused->code() == Code::stale_token) {
    co_return Failure(Code::unknown, refused->message() +
                                         "; an earlier attempt of this call may have been done "
                                         "before that");
  }
  co_return *refused;
}

Task<Result<std::optional<std::string>>> RedisFence::Impl::read(Request request) {
  const Result<CommandExecutor::Performed> performed = co_await run(get, request);
  if (!performed) co_return performed.failure();
  const Reply& reply = performed->answer.reply;
  if (const auto refused = refusal(request.key, *request.ticket, reply)) co_return *refused;
  const Reply& data = reply.at(2);
  if (data.kind != Reply::Kind::bulk) co_return std::optional<std::string>();
  co_return std::optional<std::string>(data.text);
}

Task<Result<Token>> RedisFence::Impl::look(Request request) {
  const Result<CommandExecutor::Performed> performed = co_await run(mark, request);
  if (!performed) co_return internal::unreachable_instead_of_unknown(performed.failure());
  const Reply& reply = performed->answer.reply;
  const std::optional<Token> seen = token_in(reply.at(1).text);
  if (reply.at(0).number != 1 || !seen) co_return unusable(request.key, reply.at(1).text);
  co_return *seen;
}

// ---- The calls --------------------------------------------------------------------------------

Result<RedisFence> RedisFence::open(std::string_view url, ClientOptions options) try {
  const Result<Url> parsed = Url::parse(url);
  if (!parsed) return parsed.failure();
  if (!parsed->scheme.starts_with("redis")) {
    return Failure(Code::invalid_argument, "fenced data is in Redis; '" + parsed->scheme +
                                               ":' is something else. Write redis://HOST");
  }
  const Result<Settings> settings = internal::redis::settings_from(*parsed, options);
  if (!settings) return settings.failure();
  return RedisFence(
      std::shared_ptr<Impl>(new Impl(*settings, std::move(options.observer)), &Impl::destroy));
} catch (const std::exception&) {  // No descriptor left, no memory.
  return internal::current_failure();
}

RedisFence::RedisFence(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
RedisFence::RedisFence(RedisFence&&) noexcept = default;
RedisFence& RedisFence::operator=(RedisFence&&) noexcept = default;
RedisFence::~RedisFence() = default;

namespace {

Failure moved_fence() { return Failure(Code::closed, "this fence was moved from"); }

// Kept alive together with what it runs.
template <class Impl>
std::shared_ptr<internal::Loop> loop_of(const std::shared_ptr<Impl>& impl) {
  return {impl, &impl->runtime};
}

}  // namespace

Async<Result<void>> RedisFence::async_set(std::string_view key, const Ticket& ticket,
                                          std::string_view value) {
  using Answer = Async<Result<void>>;
  if (!impl_) return Answer(moved_fence());
  if (const auto problem = problem_with(key)) return Answer(*problem);
  if (const auto problem = problem_with_write(ticket)) return Answer(*problem);
  return {loop_of(impl_), impl_->change({impl_->prefixed(key), ticket, std::string(value)})};
}

Async<Result<void>> RedisFence::async_erase(std::string_view key, const Ticket& ticket) {
  using Answer = Async<Result<void>>;
  if (!impl_) return Answer(moved_fence());
  if (const auto problem = problem_with(key)) return Answer(*problem);
  if (const auto problem = problem_with_write(ticket)) return Answer(*problem);
  return {loop_of(impl_), impl_->change({impl_->prefixed(key), ticket, std::nullopt})};
}

Async<Result<std::optional<std::string>>> RedisFence::async_get(std::string_view key,
                                                                const Ticket& ticket) {
  using Answer = Async<Result<std::optional<std::string>>>;
  if (!impl_) return Answer(moved_fence());
  if (const auto problem = problem_with(key)) return Answer(*problem);
  if (const auto problem = internal::fence::problem_with(ticket)) return Answer(*problem);
  return {loop_of(impl_), impl_->read({impl_->prefixed(key), ticket, std::nullopt})};
}

Async<Result<Token>> RedisFence::async_mark(std::string_view key) {
  using Answer = Async<Result<Token>>;
  if (!impl_) return Answer(moved_fence());
  if (const auto problem = problem_with(key)) return Answer(*problem);
  return {loop_of(impl_), impl_->look({impl_->prefixed(key), std::nullopt, std::nullopt})};
}

Result<void> RedisFence::set(std::string_view key, const Ticket& ticket, std::string_view value) {
  return async_set(key, ticket, value).get();
}
Result<void> RedisFence::erase(std::string_view key, const Ticket& ticket) {
  return async_erase(key, ticket).get();
}
Result<std::optional<std::string>> RedisFence::get(std::string_view key, const Ticket& ticket) {
  return async_get(key, ticket).get();
}
Result<Token> RedisFence::mark(std::string_view key) { return async_mark(key).get(); }

const std::string& RedisFence::set_script() {
  static const std::string source = std::string(kWritersOnly).append(kLook).append(kAdmit) + R"lua(
if ARGV[3] then redis.call('SET', data, ARGV[3]) else redis.call('DEL', data) end
return {1, mark}
)lua";
  return source;
}

const std::string& RedisFence::get_script() {
  static const std::string source = std::string(kLook).append(kAdmit) + R"lua(
return {1, mark, redis.call('GET', data)}
)lua";
  return source;
}

std::string RedisFence::mark_key(std::string_view key) {
  return internal::redis::sibling_key(std::string(key), 'f');
}

std::vector<std::string> RedisFence::script_keys(std::string_view key) {
  const Keys keys = Keys::of_fenced(std::string(key));
  std::vector<std::string> all;
  for (std::size_t i = 0; i < keys.all.count(); ++i) all.emplace_back(keys.all.at(i));
  return all;
}

}  // namespace holdfast
