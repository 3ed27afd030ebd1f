#include "lab/torture/contender.h"

#include <chrono>
#include <optional>
#include <thread>
#include <utility>

#include "holdfast/holdfast.h"
#include "lab/torture/table_contender.h"
#include "redis_connection.h"

namespace holdfast::lab {
namespace {

using namespace std::chrono_literals;
using test::RedisConnection;

class LeaseObserver : public Observer {
 public:
  explicit LeaseObserver(LeaseEvents events) : events_(std::move(events)) {}
  void on_renewed(const Hold&, BootTime) override { events_.renewed(); }
  void on_lost(const Hold&, BootTime) override { events_.lost(); }

 private:
  LeaseEvents events_;
};

class Shipped : public Contender {
 public:
  Shipped(const std::string& url, std::string name, LeaseEvents events)
      : client_(Client::open(url, {.observer = std::make_shared<LeaseObserver>(std::move(events))})
                    .value()),
        name_(std::move(name)) {}

  Result<Token> acquire(const Ask& ask) override {
    if (ask.shared) return acquire_shared(ask);
    Mutex mutex = client_.mutex(name_, {.ttl = ask.ttl, .auto_renew = ask.renew});
    Result<Lease> lease =
        ask.patience > Duration::zero() ? mutex.try_acquire_for(ask.patience) : mutex.try_acquire();
    if (!lease) return lease.failure();
    lease_ = std::move(lease).value();
    return lease_.token();
  }
  bool held() override { return lease_.held(); }
  Result<void> release() override { return lease_.release(); }

 private:
  Result<Token> acquire_shared(const Ask& ask) {
    SharedMutex mutex = client_.shared_mutex(name_, {.ttl = ask.ttl, .auto_renew = ask.renew});
    Result<Lease> lease = mutex.try_acquire_shared_for(ask.patience);
    if (!lease) return lease.failure();
    lease_ = std::move(lease).value();
    return lease_.token();
  }

  Client client_;
  std::string name_;
  Lease lease_;
};

int port_of(const std::string& url) { return std::stoi(url.substr(url.rfind(':') + 1)); }

// The base of the naive recipes: a connection, a value of their own, and a clock if they look at it.
class Naive : public Contender {
 public:
  Naive(const std::string& url, std::string name)
      : server_(port_of(url)), name_(std::move(name)), id_(std::to_string(counter_seed())) {}

  Result<Token> acquire(const Ask& ask) override {
    const BootTime end = BootClock::now() + ask.patience;
    for (;;) {
      sent_ = BootClock::now();
      if (try_once(ask.ttl)) break;
      if (BootClock::now() >= end) return Failure::busy({});
      std::this_thread::sleep_for(5ms);
    }
    end_ = sent_ + ask.ttl;
    return Token(0);
  }
  bool held() override { return end_ && BootClock::now() < *end_; }
  Result<void> release() override {
    end_.reset();
    server_.command(
        {"EVAL", "if redis.call('get',KEYS[1])==ARGV[1] then return redis.call('del',KEYS[1]) end",
         "1", name_, id_});
    return {};
  }

 protected:
  virtual bool try_once(Duration ttl) {
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(ttl).count();
    return server_.command({"SET", name_, id_, "NX", "PX", std::to_string(ms)}) == "OK";
  }
  static std::int64_t counter_seed() { return BootClock::now().time_since_epoch().count(); }

  RedisConnection server_;
  std::string name_;
  std::string id_;
  BootTime sent_;
  std::optional<BootTime> end_;
};

class Unchecked : public Naive {
 public:
  using Naive::Naive;
  bool held() override { return end_.has_value(); }
};

class PlainDel : public Naive {
 public:
  using Naive::Naive;
  Result<void> release() override {
    end_.reset();
    server_.command({"DEL", name_});
    return {};
  }
};

class SetnxExpire : public Naive {
 public:
  SetnxExpire(const std::string& url, std::string name, std::function<void()> between)
      : Naive(url, std::move(name)), between_(std::move(between)) {}

 protected:
  bool try_once(Duration ttl) override {
    if (server_.command({"SETNX", name_, id_}) != "1") return false;
    between_();
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(ttl).count();
    server_.command({"PEXPIRE", name_, std::to_string(ms)});
    return true;
  }

 private:
  std::function<void()> between_;
};

// The value is when the hold ends by the wall clock of whoever set it; who finds it in the past
// takes over. It asks the wall clock, which is the mistake.
class SetnxGetset : public Naive {
 public:
  using Naive::Naive;
  Result<void> release() override {
    end_.reset();
    server_.command({"DEL", name_});
    return {};
  }

 protected:
  bool try_once(Duration ttl) override {
    const auto now = wall_ms();
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(ttl).count();
    const std::string mine = std::to_string(now + ms);
    if (server_.command({"SETNX", name_, mine}) == "1") return true;
    const std::string present = server_.command({"GET", name_});
    if (present.empty() || std::stoll(present) >= now) return false;
    return server_.command({"GETSET", name_, mine}) == present;
  }

 private:
  static std::int64_t wall_ms() {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
  }
};

}  // namespace

std::unique_ptr<Contender> make_contender(const std::string& recipe, const std::string& url,
                                          const std::string& lock_name, LeaseEvents events,
                                          std::function<void()> between) {
  if (recipe == "unchecked") return std::make_unique<Unchecked>(url, lock_name);
  if (recipe == "plain-del") return std::make_unique<PlainDel>(url, lock_name);
  if (recipe == "setnx-expire") {
    return std::make_unique<SetnxExpire>(url, lock_name, std::move(between));
  }
  if (recipe == "setnx-getset") return std::make_unique<SetnxGetset>(url, lock_name);
  if (recipe == "table-without-expiry") return make_table_without_expiry(url, lock_name);
  if (recipe == "holdfast") return std::make_unique<Shipped>(url, lock_name, std::move(events));
  throw LockError(Failure(Code::invalid_argument, "there is no recipe '" + recipe + "'"));
}

}  // namespace holdfast::lab
