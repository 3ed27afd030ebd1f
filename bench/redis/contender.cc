#include "contender.h"

#include <holdfast/holdfast.h>

#include "raw.h"

namespace holdfast::bench {

namespace {

class HoldfastContender final : public Contender {
 public:
  HoldfastContender(std::shared_ptr<Client> client, std::stop_token over)
      : client_(std::move(client)), mutex_(client_->mutex("contest")), over_(std::move(over)) {}

  bool take() override {
    Result<Lease> lease = mutex_.acquire(over_);
    if (!lease && lease.code() == Code::cancelled) return false;
    lease_ = std::move(lease).value();
    return true;
  }
  void give() override { lease_.release().value(); }

 private:
  std::shared_ptr<Client> client_;
  Mutex mutex_;
  Lease lease_;
  std::stop_token over_;
};

class ListContender final : public Contender {
 public:
  ListContender(int port, std::stop_token over) : connection_(port), over_(std::move(over)) {}

  bool take() override {
    while (!over_.stop_requested()) {
      if (connection_.call({"BLPOP", "contest", "0.1"})->type != REDIS_REPLY_NIL) return true;
    }
    return false;
  }
  void give() override { connection_.call({"RPUSH", "contest", "token"}); }

 private:
  Raw connection_;
  std::stop_token over_;
};

}  // namespace

MakeContenders holdfast_contenders(const std::string& url) {
  return [url](int count, const std::stop_token& over) {
    const auto client = std::make_shared<Client>(Client::open(url).value());
    std::vector<std::unique_ptr<Contender>> all;
    for (int i = 0; i < count; ++i)
      all.push_back(std::make_unique<HoldfastContender>(client, over));
    return all;
  };
}

MakeContenders list_contenders(int port) {
  Raw(port).call({"RPUSH", "contest", "token"});
  return [port](int count, const std::stop_token& over) {
    std::vector<std::unique_ptr<Contender>> all;
    for (int i = 0; i < count; ++i) all.push_back(std::make_unique<ListContender>(port, over));
    return all;
  };
}

}  // namespace holdfast::bench
