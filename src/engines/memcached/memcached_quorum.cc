#include "engines/memcached/memcached_quorum.h"

#include <algorithm>

#include "engines/memcached/memcached_voter.h"
#include "engines/quorum/quorum_url.h"
#include "engines/quorum/tally.h"

namespace holdfast::internal {

namespace {

constexpr std::uint16_t kPort = 11211;
constexpr const char* kForm = "write quorum+memcached://HOST[:PORT],HOST[:PORT],HOST[:PORT]";

using memcached::ItemTtl;
using memcached::MemcachedVoter;

class MemcachedElectorate final : public quorum::Electorate {
 public:
  MemcachedElectorate(Runtime& runtime, const std::vector<memcached::Settings>& nodes,
                      const quorum::QuorumOptions& options)
      : guarantees_(memcached_quorum_guarantees()) {
    guarantees_.recipe = std::to_string(quorum::majority_of(nodes.size())) + " of " +
                         std::to_string(nodes.size()) + " servers";
    for (const memcached::Settings& node : nodes) {
      voters_.push_back(std::make_unique<MemcachedVoter>(runtime, node, options.node_timeout));
    }
  }

  const Guarantees& guarantees() const override { return guarantees_; }
  std::size_t size() const override { return voters_.size(); }
  quorum::Voter& voter(std::size_t index) override { return *voters_[index]; }
  std::optional<Failure> problem() const override {
    for (const auto& voter : voters_) {
      if (!voter->is_twin()) continue;
      return Failure(Code::misconfigured, voter->display() +
                                              " is another name of a server that is also named; a "
                                              "quorum needs independent ones");
    }
    return std::nullopt;
  }
  Duration sure_ttl(Duration ttl) const override { return ItemTtl(ttl).sure; }
  Task<Result<bool>> open(Duration, Deadline) override { co_return false; }

 private:
  Guarantees guarantees_;
  std::vector<std::unique_ptr<MemcachedVoter>> voters_;
};

}  // namespace

Guarantees memcached_quorum_guarantees() {
  return Guarantees{
      .engine = "quorum+memcached",
      .recipe = "majority of servers",
      .exclusion = Exclusion::best_effort,
      .token = TokenStrength::none,
      .wake_up = WakeUp::poll,
      .fairness = Fairness::none,
      .shared_mode = false,
      .permit_mode = false,
      .no_permits_because = "a quorum cannot count permits",
      .no_records_because = "a cache forgets; use an engine that keeps its data",
      .min_ttl = std::chrono::seconds(2),
      .notes =
          "A server that is restarted, flushed or short of memory forgets its vote and does not "
          "know "
          "it: a lock is lost if that happens to those that make the difference. The token only "
          "tells grants apart; it is no fencing token."};
}

Result<std::unique_ptr<Engine>> open_memcached_quorum(const Url& url, Runtime& runtime,
                                                      const ClientOptions& options) {
  UrlReader reader(url, kForm);
  quorum::QuorumOptions quorum;
  const std::vector<Endpoint> endpoints = quorum::read_nodes(reader, kPort, quorum, options);
  Url node = reader.with_only({"prefix", "connect_timeout_ms", "command_timeout_ms"});
  if (const Result<void> read = reader.finish(); !read) return read.failure();
  node.scheme = "memcached";
  std::vector<memcached::Settings> nodes;
  for (const Endpoint& endpoint : endpoints) {
    node.hosts = endpoint.display();
    Result<memcached::Settings> settings = memcached::settings_from(node, options, kForm);
    if (!settings) return settings.failure();
    quorum.request_timeout = settings->request_timeout;
    nodes.push_back(std::move(settings).value());
  }
  return quorum::make_quorum_engine(
      runtime, std::make_unique<MemcachedElectorate>(runtime, nodes, quorum), quorum);
}

}  // namespace holdfast::internal
