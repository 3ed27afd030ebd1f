#include "redis_sentinel.h"

#include <fstream>
#include <sstream>
#include <stdexcept>

#include "certificates.h"
#include "product.h"
#include "waiting.h"

namespace holdfast::test {

RedisSentinel::RedisSentinel(const RedisSentinelOptions& options) : plain_port_(free_port()) {
  if (options.tls) tls_port_ = free_port();
  // Sentinels write into their file.
  const std::string file = directory_.path() / "sentinel.conf";
  std::ofstream(file) << configuration(options);
  const Product product = Product::of(ServerKind::redis);
  process_ = std::make_unique<ServerProcess>(
      std::vector<std::string>{product.program(product.name() + "-sentinel"), file},
      directory_.path() / "log");
  wait_for("redis-sentinel to answer",
           [this] { return !process_->running() || command({"PING"}) == "PONG"; });
  if (!process_->running()) throw std::runtime_error("redis-sentinel has ended: " + log());
}

std::string RedisSentinel::configuration(const RedisSentinelOptions& options) const {
  const std::string& name = options.master_name;
  std::ostringstream text;
  text << "port " << plain_port_ << "\nbind 127.0.0.1\ndir " << directory_.path().string() << "\n";
  if (options.tls) {
    const Certificates& certificates = Certificates::shared();
    text << "tls-port " << tls_port_ << "\ntls-auth-clients optional\ntls-replication yes"
         << "\ntls-ca-cert-file " << certificates.ca() << "\ntls-cert-file "
         << certificates.server_certificate() << "\ntls-key-file " << certificates.server_key()
         << "\n";
  }
  text << "sentinel monitor " << name << " 127.0.0.1 " << options.master_port << " "
       << options.quorum << "\nsentinel down-after-milliseconds " << name << " "
       << options.down_after_ms << "\nsentinel failover-timeout " << name << " 2000\n";
  if (!options.password.empty()) {
    text << "sentinel auth-pass " << name << " " << options.password << "\n";
  }
  return text.str();
}

void RedisSentinel::publish_every(int period_ms) {
  // PING-PERIOD: the first ping over a new link comes after one period, but counts as sent when the
  // link was made: with half a second and more, each new link would be found down. And during a
  // failover only replicas count whose INFO, asked for each second, is younger than five periods.
  const std::string reply =
      command({"SENTINEL", "DEBUG", "PUBLISH-PERIOD", std::to_string(period_ms), "INFO-PERIOD",
               "1000", "PING-PERIOD", "250", "ASK-PERIOD", "100"});
  if (reply != "OK") throw std::runtime_error("SENTINEL DEBUG: " + reply);
}

void RedisSentinel::kill() {
  process_->kill();
  connection_.reset();
}

std::string RedisSentinel::command(const std::vector<std::string>& words) {
  try {
    if (!connection_) connection_ = std::make_unique<RedisConnection>(plain_port_);
    return connection_->command(words);
  } catch (const std::runtime_error&) {
    connection_.reset();
    throw;
  }
}

}  // namespace holdfast::test
