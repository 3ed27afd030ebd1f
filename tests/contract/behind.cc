#include "behind.h"

#include <algorithm>
#include <array>
#include <future>
#include <regex>

namespace holdfast::contract {

namespace {

constexpr std::array kNames{"redis",
                            "redlock_3",
                            "etcd",
                            "zookeeper",
                            "memcached",
                            "quorum_memcached",
                            "mysql_table",
                            "mysql_named",
                            "mysql_row",
                            "postgres_table",
                            "postgres_row",
                            "postgres_advisory",
                            "postgres_table_pooled"};

}  // namespace

Behind::Behind(const EngineUnderTest& engine) : name_(engine.name), place_(engine.start()) {
  const std::regex address(R"(127\.0\.0\.1:(\d+))");
  const std::string url = place_->url();
  auto rest = url.begin();
  for (std::sregex_iterator each(url.begin(), url.end(), address), end; each != end; ++each) {
    proxies_.push_back(std::make_unique<test::Proxy>(std::stoi((*each)[1])));
    url_.append(rest, (*each)[0].first);
    url_.append("127.0.0.1:" + std::to_string(proxies_.back()->port()));
    rest = (*each)[0].second;
  }
  url_.append(rest, url.end());
}

Client open_hasty(const std::string& url, const ClientOptions& options) {
  for (int attempt = 0; attempt < 10; ++attempt) {
    Result<Client> client = Client::open(url, options);
    if (client) return std::move(client).value();
  }
  return Client::open(url, options).value();
}

std::map<std::string, std::string> on_all_behind(
    const std::function<std::string(Behind&)>& scenario) {
  std::vector<std::unique_ptr<Behind>> all;
  for (const EngineUnderTest& engine : engines_under_test()) {
    if (std::find(kNames.begin(), kNames.end(), engine.name) == kNames.end()) continue;
    all.push_back(std::make_unique<Behind>(engine));
  }
  std::vector<std::future<std::string>> outcomes;
  for (const auto& behind : all) {
    outcomes.push_back(std::async(std::launch::async, scenario, std::ref(*behind)));
  }
  std::map<std::string, std::string> wrong;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::string outcome = outcomes[i].get();
    if (!outcome.empty()) wrong[all[i]->name()] = outcome;
  }
  return wrong;
}

}  // namespace holdfast::contract
