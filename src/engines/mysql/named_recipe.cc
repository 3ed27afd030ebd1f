// "named": GET_LOCK, which lives as long as its session.
#include <algorithm>

#include "base/text.h"
#include "engines/mysql/session_recipe.h"
#include "engines/session/mark.h"

namespace holdfast::internal::mysql {

namespace {

// GET_LOCK takes 64 characters, and no difference between upper and lower case. What fits is taken
// as it is, so that other programs that call GET_LOCK(NAME) exclude us; the rest by its hash.
constexpr std::size_t kMaxLock = 60;
constexpr std::string_view kHashed = "hf:";

bool fits(const std::string& name) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
           std::string_view("_-.:/").find(c) != std::string_view::npos;
  };
  return name.size() <= kMaxLock && !name.starts_with(kHashed) &&
         std::all_of(name.begin(), name.end(), plain);
}

}  // namespace

class NamedRecipe final : public SessionRecipe {
 public:
  NamedRecipe(Runtime& runtime, const Settings& settings)
      : SessionRecipe(runtime, settings, "named") {}

  session::Key key_of(const Name& name) const override {
    session::Key key;
    key.name = settings().prefix + name.bytes();
    key.hash = hash_of(key.name);
    key.lock = key.name;
    if (!fits(key.name)) {
      // 208 bits of it: as many as there is room for.
      key.lock = std::string(kHashed) + to_hex(std::string_view(key.hash).substr(0, 26));
    }
    return key;
  }

  session::Batch take(const session::Key& key, const Claim& claim) const override {
    session::Batch batch(1);
    batch[0] = {"SELECT GET_LOCK(?, 0), NULL", {key.lock}};
    batch[0].answer = one_row("np");
    if (settings().tokens) draw_into(batch, key, claim, "CONNECTION_ID()");
    return batch;
  }

  session::Batch wait(const session::Key& key, const Claim& claim,
                      std::optional<Duration> limit) const override {
    constexpr double kLongest =
        30 * 24 * 3600;  // A negative time, for ever, is refused by MariaDB.
    double seconds = kLongest;
    if (limit) seconds = std::min(seconds, std::chrono::duration<double>(*limit).count());
    seconds = std::max(seconds, 0.0);
    // MySQL knows whole seconds only.
    const std::string time =
        is_mariadb() ? std::to_string(seconds) : std::to_string(static_cast<long>(seconds) + 1);
    session::Batch batch(1);
    batch[0].text = mark_of(key, claim) + "SELECT GET_LOCK(?, " + time + "), NULL";
    batch[0].values = {key.lock};
    batch[0].answer = one_row("np");
    if (settings().tokens) draw_into(batch, key, claim, "CONNECTION_ID()");
    return batch;
  }
  void conclude(SqlOutcome& outcome) const override {
    if (!settings().tokens) return;
    const std::optional<std::string> token = take_token(outcome);
    outcome.results.back().rows.at(0).at(1) = token;
  }
  bool wait_ends_by_itself() const override { return is_mariadb(); }

  session::Batch confirm(const session::Key& key, const Claim&,
                         const session::Opened&) const override {
    return session::one("SELECT IS_USED_LOCK(?) = CONNECTION_ID(), NULL", {key.lock},
                        session::hold_row());
  }

  session::Batch give(const session::Key& key, const Claim&) const override {
    return session::one("SELECT RELEASE_LOCK(?), NULL", {key.lock}, session::hold_row());
  }
  // Somebody has locked the row of the token; the lock may be ours already.
  SqlTrouble trouble_with(const SqlError& error) const override {
    const SqlTrouble trouble = SessionRecipe::trouble_with(error);
    return trouble == SqlTrouble::busy ? SqlTrouble::again : trouble;
  }
  bool busy_leaves_something() const override { return false; }

 protected:
  std::string sign(const session::Key& key, const Claim&) const override { return key.lock; }
};

std::unique_ptr<session::Recipe> make_named_recipe(Runtime& runtime, const Settings& settings) {
  return std::make_unique<NamedRecipe>(runtime, settings);
}

Guarantees named_guarantees() {
  return Guarantees{
      .engine = "mysql",
      .recipe = "named",
      .exclusion = Exclusion::bounded_by_clocks,
      .token = TokenStrength::durable_one_node,
      .wake_up = WakeUp::push,
      .fairness = Fairness::fifo,
      .shared_mode = false,
      .permit_mode = false,
      .no_permits_because = "GET_LOCK is exclusive; recipe=table has them",
      .records = true,
      .notes =
          "GET_LOCK on a connection for each lock that is held or waited for. The lock ends with "
          "its connection: lost() tells at once when the server closes it. After a "
          "restart or a failover nobody is granted a lock for the ttl of its last grant, if that "
          "was "
          "not forgotten; with tokens=no it is granted at once."};
}

}  // namespace holdfast::internal::mysql
