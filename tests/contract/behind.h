// Behind: an engine with a proxy in front of each of its servers, to fall silent without FIN or RST. For tests
// in which engines do nothing but wait: they run on all of them at the same time.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engines.h"
#include "holdfast/client.h"
#include "proxy.h"

namespace holdfast::contract {

class Behind {
 public:
  explicit Behind(const EngineUnderTest& engine);

  const std::string& name() const { return name_; }
  const std::string& url() const { return url_; }  // through the proxies
  std::string direct_url() const { return place_->url(); }
  void each(const std::function<void(test::Proxy&)>& fault) {
    for (const auto& proxy : proxies_) fault(*proxy);
  }

 private:
  std::string name_;
  std::unique_ptr<Place> place_;
  std::vector<std::unique_ptr<test::Proxy>> proxies_;
  std::string url_;
};

// A client with a short request timeout, in which a busy machine may not open it at the first attempt.
Client open_hasty(const std::string& url, const ClientOptions& options);

// Runs the scenario on one engine of each kind, all at the same time. It returns what went wrong, empty if nothing
// did; what went wrong by engine is returned. Not on those whose servers tell clients their own addresses
// (sentinels, cluster), and not on the embedded engine.
std::map<std::string, std::string> on_all_behind(
    const std::function<std::string(Behind&)>& scenario);

}  // namespace holdfast::contract
