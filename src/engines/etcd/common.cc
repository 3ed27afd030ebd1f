#include "engines/etcd/common.h"

#include "engines/etcd/queue.h"
#include "engines/etcd/turn.h"

namespace holdfast::internal::etcd {

namespace {

using Branch = Txn::Branch;

}  // namespace

void Entrance::let_in(Pass& pass) {
  ++inside_;
  pass.inside_ = true;
  pass.turn_.set();
}

Event::Awaiter Entrance::Pass::wait(Deadline deadline, std::stop_token stop) {
  if (entrance_.inside_ < kMost) {
    entrance_.let_in(*this);
  } else {
    waits_ = true;
    entrance_.line_.push_back(this);
  }
  return turn_.wait(deadline, std::move(stop));
}

Entrance::Pass::~Pass() {
  if (waits_) entrance_.line_.remove(this);
  if (!inside_) return;
  --entrance_.inside_;
  if (entrance_.line_.empty()) return;
  Pass& next = *entrance_.line_.front();
  entrance_.line_.pop_front();
  next.waits_ = false;
  entrance_.let_in(next);
}

Common::Common(Runtime& runtime_of_all, const Settings& settings_of_all)
    : runtime(runtime_of_all),
      settings(settings_of_all),
      cluster(runtime, settings),
      sessions(runtime, cluster, settings.request_timeout),
      watcher(runtime, cluster, settings.request_timeout),
      places(runtime),
      entrance(runtime),
      background(runtime) {
  sessions.on_lost = [this](const Session&) {
    for (const auto& [id, turn] : waiting) turn->look_up();
  };
}

Failure Common::makes_no_sense() const {
  return cluster.failed(Code::unknown, "an answer that makes no sense");
}

Deadline Common::request_deadline(Deadline deadline) const {
  return deadline.sooner(runtime.now() + settings.request_timeout);
}

Task<Result<std::optional<KeyValue>>> find_claim(Cluster& cluster, Keys keys, Claim claim,
                                                 std::string key, Deadline deadline) {
  Range wanted{.key = key, .end = {}};
  if (key.empty()) wanted = Range{.key = keys.base, .end = keys.end};
  const std::string request = encode(wanted);
  const Result<Answer> answer = co_await cluster.call(Method::range, request, deadline);
  if (!answer) co_return answer.failure();
  const std::optional<RangeAnswer> found = decode_range(answer->message);
  if (!found) co_return cluster.failed(Code::unknown, "an answer that makes no sense");
  for (const KeyValue& pair : found->pairs) {
    const Entry entry = entry_of(keys, pair);
    if (!entry.foreign && entry.id == claim.id) co_return pair;
  }
  co_return std::nullopt;
}

Task<Result<bool>> Common::remove(Claim claim, std::string key, Revision token, Deadline deadline) {
  const Keys keys(settings.prefix, claim.name);
  bool repeated = false;
  const bool known = token != 0;
  for (;;) {
    if (!known) {  // Then we have to look first: did it hold?
      const Result<std::optional<KeyValue>> own =
          co_await find_claim(cluster, keys, claim, key, deadline);
      if (!own) co_return own.failure();
      if (!*own) co_return repeated;
      key = (*own)->key;
      token = (*own)->created;
    }
    Txn txn;
    txn.if_created_at(key, token);
    if (!known) add_look(txn, Branch::then, keys, claim, key, token);
    txn.remove(Branch::then, key);
    const Result<Answer> answer = co_await cluster.call(Method::txn, txn.encode(), deadline);
    if (!answer) co_return answer.failure();
    const std::optional<TxnAnswer> done = decode_txn(answer->message);
    if (!done) co_return makes_no_sense();
    // Nothing there the second time: the first attempt may have ended it.
    repeated = repeated || answer->repeated;
    if (known) co_return done->succeeded || repeated;
    if (!done->succeeded) continue;
    const Standing standing = standing_of(keys, claim, *done, 0);
    // What outlives its process has a lease of its own, of no use now.
    if (claim.outlives_process) background.spawn(sessions.revoke(standing.lease));
    co_return standing.state == Standing::State::holds;
  }
}

// A key in a place of ours is this claim's and nobody else's until its removal has been answered, and
// only then another claim of ours gets the place. So it is simply removed: a comparison could find
// nothing else there, and costs etcd 3.4 a copy of all that was written lately. But if it is not sure
// that a request has had its only effect (one that was not answered, and may yet be executed), the key
// is removed by its revision, and nobody gets the place.
Task<Result<bool>> Common::give_back(Claim claim, Deadline deadline) {
  const Holding* const holding = holdings.find(claim.id);
  if (!holding) co_return false;
  const std::string key = holding->key;
  const Revision token = holding->token;
  const bool sure =
      !holding->unsure && !holding->ending && places.find(claim.id) && !waiting.contains(claim.id);
  holdings.begin_to_end(claim.id);
  Result<bool> ended = false;
  bool once = sure;
  if (sure) {
    const Result<Answer> answer =
        co_await cluster.call(Method::remove, encode_remove(key), deadline);
    if (!answer) co_return answer.failure();
    const std::optional<std::vector<KeyValue>> removed = decode_remove(answer->message);
    if (!removed) co_return makes_no_sense();
    once = !answer->repeated;
    ended = answer->repeated || (!removed->empty() && removed->front().created == token);
  } else {
    ended = co_await remove(claim, key, token, deadline);
    if (!ended) co_return ended;
  }
  if (!waiting.contains(claim.id)) {  // Else the place is its turn's to leave.
    if (once) {
      places.free(claim.id);
    } else {
      places.burn(claim.id);
    }
  }
  co_return ended;
}

Task<Result<bool>> Common::give_back_or_hear(Claim claim, std::string key, Revision token,
                                             Deadline deadline) {
  if (!watched.contains(key)) co_return co_await give_back(std::move(claim), deadline);
  const auto release = std::make_shared<Release>(runtime, token);
  releases[key] = release;
  // In the background: also when the end is heard first, the answer is waited for.
  const auto ask = [](Common& common, Claim what, Deadline by,
                      std::shared_ptr<Release> asked) -> Task<void> {
    asked->answer = co_await common.give_back(std::move(what), by);
    asked->done.set();
  };
  background.spawn(ask(*this, std::move(claim), deadline, release));
  co_await release->done.wait();
  if (const auto found = releases.find(key); found != releases.end() && found->second == release) {
    releases.erase(found);
  }
  co_return release->answer.value_or(true);
}

void Common::heard_removal(const std::string& key, Revision token) {
  const auto found = releases.find(key);
  // (The same key may have been another claim's before.)
  if (found != releases.end() && found->second->token == token) found->second->done.set();
}

Task<void> Common::mark(std::string key, Revision token, std::string note,
                        std::unique_ptr<LocalQueue<InTheWay>::Entry>) {
  Txn txn;
  txn.if_created_at(key, token).put_value(Branch::then, key, note);
  const Deadline deadline = Deadline::at(runtime.now() + settings.request_timeout);
  static_cast<void>(co_await cluster.call(Method::txn, txn.encode(), deadline));
}

}  // namespace holdfast::internal::etcd
