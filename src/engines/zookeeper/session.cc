#include "engines/zookeeper/session.h"

#include <algorithm>

#include "base/failures.h"
#include "base/server_reporter.h"
#include "holdfast/async.h"

namespace holdfast::internal::zookeeper {

namespace {

using std::chrono::milliseconds;

std::int32_t milliseconds_of(Duration span) {
  return static_cast<std::int32_t>(
      std::clamp<std::int64_t>(std::chrono::ceil<milliseconds>(span).count(), 1, INT32_MAX));
}

}  // namespace

Session::Session(Runtime& runtime, const Settings& settings, Duration timeout,
                 std::optional<SessionKey> key)
    : runtime_(runtime),
      settings_(settings),
      wanted_timeout_(timeout),
      adopted_(key.has_value()),
      servers_(settings.endpoints),
      key_(std::move(key).value_or(SessionKey())),
      woken_(runtime),
      background_(runtime),
      reopening_(runtime, [this] { return try_to_open(); }, [] {}) {
  // Clients spread over the servers.
  for (std::size_t i = servers_.size(); i > 1; --i) {
    std::swap(servers_[i - 1], servers_[runtime.random() % i]);
  }
}

Session::~Session() {
  background_.abandon();
  reopening_.abandon();
}

Failure Session::failed(Code code, const std::string& why) const {
  return Failure(
      code,
      "ZooKeeper" + (connection_ ? " at " + connection_->endpoint().display() : "") + ": " + why);
}

// ---- Opening -----------------------------------------------------------------------------------

Task<Result<void>> Session::open(Deadline deadline, std::stop_token stop) {
  while (!attached()) {
    if (over_) co_return failed(Code::closed, "this session is closed");
    reopening_.begin();
    const Woken woken = co_await reopening_.wait(deadline, stop);
    if (woken == Woken::cancelled) co_return cancelled_by_caller();
    if (attached()) break;
    const Result<void>& last = reopening_.last();
    if (woken == Woken::timed_out) {
      const bool known = !last && !last.message().empty();
      co_return failed(Code::unreachable,
                       "no connection in time" + (known ? " (" + last.message() + ")" : ""));
    }
    // Servers that elect a leader refuse for a moment. A server that was never there is not waited for.
    const bool may_pass = !last && last.code() == Code::unreachable && may_come_back_;
    if (!last && !may_pass) co_return last.failure();
  }
  co_return Result<void>();
}

Task<Result<void>> Session::try_to_open() {
  const auto count = static_cast<Duration::rep>(servers_.size());
  // One that does not answer must leave time for the others before the session is over.
  const Duration each =
      count == 1
          ? settings_.connect_timeout
          : std::clamp<Duration>(wanted_timeout_ / (2 * count), milliseconds(500),
                                 std::max<Duration>(settings_.connect_timeout, milliseconds(500)));
  std::string problems;
  Code code = Code::unreachable;
  bool turned_away = true;
  for (std::size_t i = 0; i < servers_.size(); ++i) {
    const Endpoint server = servers_[next_server_ % servers_.size()];
    const Result<void> tried =
        co_await contained(try_server(server, Deadline::at(runtime_.now() + each)));
    report_try(server, tried);
    if (tried) turned_away_since_.reset();
    if (tried) co_return Result<void>();
    if (tried.code() == Code::not_held) co_return tried;
    turned_away = turned_away && connection_ && connection_->turned_away();
    ++next_server_;
    connection_.reset();
    problems += (problems.empty() ? "" : "; ") + server.display() + ": " + tried.message();
    if (tried.code() == Code::misconfigured) code = Code::misconfigured;
  }
  // Servers that were restored from a backup know less than we have seen, and refuse us until they have
  // caught up, perhaps never. We forget it, once nothing that we hold can be valid. (Until then it keeps
  // us from a server that is behind; a look at such a one only shows more before us.)
  if (!turned_away) turned_away_since_.reset();
  if (turned_away && !turned_away_since_) turned_away_since_ = runtime_.now();
  if (turned_away && runtime_.now() - *turned_away_since_ > wanted_timeout_) last_zxid_ = 0;
  co_return Failure(code, "no ZooKeeper server can be reached: " + problems);
}

void Session::report_try(const Endpoint& endpoint, const Result<void>& tried) const {
  const std::string server = endpoint.display();
  if (tried) {
    report_opened(runtime_, server);
  } else if (tried.code() !=
             Code::not_held) {  // Then the server is there, and only the session is not.
    report_failed_to_open(runtime_, server,
                          Failure(tried.code(), "ZooKeeper at " + server + ": " + tried.message()));
  }
}

void Session::report_refusal(const Failure& why) const {
  if (connection_) report_refused(runtime_, connection_->endpoint().display(), why);
}

Task<Result<void>> Session::try_server(const Endpoint& endpoint, Deadline deadline) {
  for (;;) {
    ConnectionListener& self = *this;
    connection_ = std::make_unique<Connection>(runtime_, endpoint, self);
    const Greeting greeting{.last_zxid = last_zxid_,
                            .timeout_ms = milliseconds_of(wanted_timeout_),
                            .session = key_.id,
                            .password = key_.password};
    const std::string login =
        settings_.login.empty() ? "" : encode_login("digest", settings_.login);
    const Result<Connection::Opened> opened =
        co_await connection_->open(settings_.tls, greeting, login, deadline);
    may_come_back_ = may_come_back_ || opened || connection_->reached();
    if (!opened) co_return opened.failure();
    const Welcome& welcome = opened->welcome;
    if (welcome.timeout_ms <= 0 || welcome.session == 0) {
      const bool had_one = key_.id != 0;
      expire();
      if (adopted_) co_return Failure(Code::not_held, "its session has expired");
      if (!had_one) co_return Failure(Code::unreachable, "it gives no session");
      continue;
    }
    const Duration timeout = milliseconds(welcome.timeout_ms);
    if (welcome.session == key_.id) {
      proof_.attached(opened->sent_at, timeout);
    } else {
      key_ = {welcome.session, welcome.password};
      proof_.created(opened->sent_at, timeout);
    }
    ready_ = true;
    set_watches_again();
    if (!keeping_) {
      keeping_ = true;
      background_.spawn(keep_alive());
    }
    co_return Result<void>();
  }
}

void Session::set_watches_again() {
  std::vector<std::string> data;
  std::vector<std::string> children;
  for (const auto& [path, watch] : watches_) {
    if (watch->fired()) continue;
    watch->set_again_ = true;
    auto& paths = watch->kind_ == Watch::Kind::data ? data : children;
    if (paths.empty() || paths.back() != path) paths.push_back(path);
  }
  // In parts: a server refuses packets over 1 MB.
  constexpr std::size_t kPart = 128 << 10;
  const auto send = [&](std::vector<std::string>& paths, bool are_data) {
    std::vector<std::string> part;
    std::size_t size = 0;
    for (std::size_t i = 0; i < paths.size(); ++i) {
      size += paths[i].size() + 4;
      part.push_back(std::move(paths[i]));
      if (size < kPart && i + 1 < paths.size()) continue;
      connection_->send_special(are_data ? encode_set_watches(last_zxid_, part, {})
                                         : encode_set_watches(last_zxid_, {}, part));
      part.clear();
      size = 0;
    }
  };
  send(data, true);
  send(children, false);
}

// ---- Calling -----------------------------------------------------------------------------------

Task<Result<Answers>> Session::call(Requests requests, Deadline deadline, std::stop_token stop) {
  for (;;) {
    if (!attached()) {
      const Result<void> opened = co_await open(deadline, stop);
      if (!opened) co_return opened.failure();
    }
    const std::uint64_t incarnation = incarnation_;
    Requests copy = requests;
    Result<Answers> answers = co_await connection_->call(std::move(copy), deadline, stop);
    if (!answers) co_return answers;
    const Error last = answers->replies.back().error;
    if (last != Error::session_expired && last != Error::session_moved) {
      answers->incarnation = incarnation;
      co_return answers;
    }
    // The last of them was not executed; what those before it did is gone with the session, or was
    // for reading. So they can all be asked again.
    if (incarnation == incarnation_) {
      if (last == Error::session_expired) expire();
      drop(describe(last));
    }
  }
}

Task<Result<Answers>> Session::ask(Requests requests, Deadline deadline, std::stop_token stop) {
  for (bool repeated = false;; repeated = true) {
    const std::uint64_t closed = closings_;
    Requests copy = requests;
    Result<Answers> answers = co_await call(std::move(copy), deadline, stop);
    if (answers) answers->repeated = repeated;
    const bool broke = !answers && answers.code() == Code::unknown && closings_ != closed;
    if (broke && !deadline.passed(runtime_.now()) && !stop.stop_requested()) continue;
    if (!answers && repeated) co_return Failure(Code::unknown, answers.message());
    co_return answers;
  }
}

void Session::on_answered(BootTime sent_at, bool write, std::int64_t zxid) {
  if (zxid > 0) last_zxid_ = std::max(last_zxid_, zxid);
  proof_.answered(sent_at, runtime_.now());
  if (write) proof_.confirmed(sent_at);
}

// ---- Ending ------------------------------------------------------------------------------------

void Session::on_closed(const std::string& why) {
  // A server also hangs up when we have told it to end the session.
  if (attached() && !over_) {
    report_lost(runtime_, connection_->endpoint().display(), failed(Code::unreachable, why));
  }
  ready_ = false;
  connection_.reset();
  ++closings_;
  ++next_server_;
  woken_.set();
  if (uses_ > 0 && !over_) reopening_.begin();
}

void Session::drop(const std::string& why) {
  if (attached()) on_closed(why);
}

void Session::expire() {
  if (key_.id == 0) return;
  key_ = {};
  ++incarnation_;
  proof_.ended();
  for (const auto& [path, watch] : watches_) watch->told_.set();
  for (Vouched* node : vouched_) {
    node->gone_ = true;
    node->told_.set();
  }
  if (on_expired) on_expired();
}

Task<void> Session::close(Deadline deadline) {
  if (over_) co_return;
  if (!attached() && key_.id != 0 && !adopted_) {
    static_cast<void>(co_await open(deadline));  // Its nodes must not stay until it expires.
  }
  over_ = true;
  if (attached()) {
    Requests requests;
    requests.close_session();
    static_cast<void>(co_await connection_->call(std::move(requests), deadline, {}));
  }
  leave_behind();
}

void Session::leave_behind() {
  over_ = true;
  ready_ = false;
  reopening_.abandon();  // It may be in the middle of opening the connection.
  connection_.reset();
  woken_.set();
}

// ---- Staying alive -----------------------------------------------------------------------------

Duration Session::patience() const {
  return std::clamp<Duration>(timeout() / 4, milliseconds(250), std::chrono::seconds(5));
}

Task<void> Session::keep_alive() {
  while (!over_) {
    // Nobody needs a session that has no nodes to be proven alive.
    const Duration period = uses_ > 0 ? timeout() / 24 : timeout() / 6;
    const Deadline next =
        Deadline::at(runtime_.now() + std::max<Duration>(period, milliseconds(5)));
    static_cast<void>(co_await woken_.wait(next));
    woken_.reset();
    if (over_) break;
    if (!attached()) {
      if (uses_ > 0 && !reopening_.under_way()) reopening_.begin();
      if (key_.id == 0) break;
      continue;
    }
    const BootTime now = runtime_.now();
    const std::optional<BootTime> oldest = connection_->oldest_unanswered();
    if (oldest && now - *oldest > patience()) {
      // Perhaps it was only we who did not listen.
      static_cast<void>(co_await sleep_until(runtime_, now + milliseconds(2)));
      const bool heard = !attached() || connection_->oldest_unanswered() != oldest;
      // It may answer pings and yet be cut off from the others: then a write has no answer.
      if (!heard) drop("no answer any more");
      continue;
    }
    if (now - connection_->last_sent() >= period - milliseconds(1)) connection_->ping();
    const std::optional<BootTime> confirmed = proof_.last_confirmed();
    if (!vouched_.empty() && !looking_ && (!confirmed || now - *confirmed > timeout() / 6)) {
      looking_ = true;
      background_.spawn(look_after(Deadline::at(now + timeout() / 2)));
    }
  }
  keeping_ = false;
}

Task<void> Session::look_after(Deadline deadline) {
  // Each in its turn: a few at a time are enough to prove what is to be proven.
  constexpr std::size_t kMaxBatch = 64;
  std::vector<std::string> paths;
  Requests requests;
  {
    Requests::Transaction transaction(requests);
    const std::size_t count = std::min(kMaxBatch, vouched_.size());
    for (std::size_t i = 0; i < count; ++i) {
      Vouched* const node = vouched_.front();
      vouched_.splice(vouched_.end(), vouched_, vouched_.begin());
      paths.push_back(node->path_);
      transaction.check(node->path_, -1);
    }
  }
  const Result<Answers> answers = co_await connection_->call(std::move(requests), deadline, {});
  looking_ = false;
  if (!answers) co_return;
  const std::vector<Error>& steps = answers->replies.front().steps;
  for (std::size_t i = 0; i < std::min(steps.size(), paths.size()); ++i) {
    if (steps[i] != Error::no_node) continue;
    for (Vouched* node : vouched_) {
      if (node->path_ != paths[i]) continue;
      node->gone_ = true;
      node->told_.set();
    }
  }
}

// ---- Watches -----------------------------------------------------------------------------------

Session::Watch::Watch(Session& session, Kind kind, std::string path, Event& told,
                      std::function<void()> then)
    : session_(session),
      kind_(kind),
      told_(told),
      then_(std::move(then)),
      place_(session.watches_.emplace(std::move(path), this)) {}

Session::Vouched::Vouched(Session& session, std::string path, Event& told)
    : session_(session),
      path_(std::move(path)),
      told_(told),
      place_(session.vouched_.insert(session.vouched_.end(), this)) {}

void Session::on_event(const WatchEvent& event) {
  std::vector<std::function<void()>> consequences;  // They may change what we go through here.
  const auto [begin, end] = watches_.equal_range(event.path);
  for (auto it = begin; it != end; ++it) {
    Watch& watch = *it->second;
    const bool is_data = event.type == WatchEvent::Type::data_changed;
    const bool is_children = event.type == WatchEvent::Type::children_changed;
    if (watch.kind_ == Watch::Kind::data ? is_children : is_data) continue;
    if (watch.fired()) continue;
    watch.type_ = event.type;
    watch.told_.set();
    if (watch.then_) consequences.push_back(watch.then_);
  }
  for (const std::function<void()>& consequence : consequences) consequence();
}

}  // namespace holdfast::internal::zookeeper
