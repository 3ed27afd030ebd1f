#include "zookeeper_server.h"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <fstream>
#include <stdexcept>

#include "certificates.h"
#include "waiting.h"

namespace holdfast::test {

namespace {

using namespace std::chrono_literals;

// A JVM that starts on a busy machine takes its time.
constexpr std::chrono::milliseconds kStart = 120s;

std::string contents(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// A connection, or -1.
int connect_to(int port) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) return socket;
  ::close(socket);
  return -1;
}

std::string class_path(const Product& product) {
  const std::filesystem::path server = product.jar("zookeeper");
  std::string path;
  // Netty is for TLS only.
  for (const char* jar :
       {"zookeeper-jute", "slf4j-api", "slf4j-simple", "metrics-core", "snappy-java",
        "netty-buffer", "netty-codec", "netty-common", "netty-handler", "netty-resolver",
        "netty-transport", "netty-transport-native-epoll", "netty-transport-native-unix-common"}) {
    path += (server.parent_path() / (std::string(jar) + ".jar")).string() + ":";
  }
  // The last: it names the machine's own archives by itself, which may be of another version.
  return path + server.string();
}

}  // namespace

ZooKeeperServer::ZooKeeperServer(ZooKeeperOptions options) : options_(std::move(options)) {
  for (int attempt = 1;; ++attempt) {
    port_ = free_port();
    if (options_.tls) tls_port_ = free_port();
    try {
      write_files();
      launch();
      wait_until_it_serves();
      return;
    } catch (const std::runtime_error&) {
      // Somebody else on this machine was faster.
      const bool taken = log().find("Address already in use") != std::string::npos;
      if (!taken || attempt == 5) throw;
      std::filesystem::remove(directory_.path() / "log");
    }
  }
}

ZooKeeperServer::ZooKeeperServer(ZooKeeperOptions options, Member member, int port)
    : options_(std::move(options)), member_(std::move(member)), port_(port) {
  if (options_.tls) tls_port_ = free_port();
  write_files();
  launch();
}

void ZooKeeperServer::write_files() {
  std::ofstream config(directory_.path() / "zoo.cfg");
  config << "tickTime=" << options_.tick_ms << "\n"
         << "initLimit=100\n"  // in ticks: a peer that starts slowly is no failure
         << "syncLimit=30\n"
         << "minSessionTimeout=200\nmaxSessionTimeout=600000\n"
         << "dataDir=" << (directory_.path() / "data").string() << "\n"
         << "clientPort=" << port_ << "\nclientPortAddress=127.0.0.1\n"
         << "admin.enableServer=false\nmaxClientCnxns=0\n"
         << "4lw.commands.whitelist=*\n";
  if (options_.tls) {
    config << "secureClientPort=" << tls_port_ << "\nsecureClientPortAddress=127.0.0.1\n";
  }
  for (const std::string& line : member_.lines) config << line << "\n";
  for (const std::string& line : options_.settings) config << line << "\n";
  std::filesystem::create_directories(directory_.path() / "data");
  if (member_.id != 0) std::ofstream(directory_.path() / "data" / "myid") << member_.id << "\n";
  if (options_.tls) {
    // Key and certificates in one file each, as it wants them.
    const Certificates& all = Certificates::shared();
    std::ofstream(directory_.path() / "server.pem")
        << contents(all.server_key()) << contents(all.server_certificate());
    std::ofstream(directory_.path() / "trust.pem") << contents(all.ca());
  }
}

std::vector<std::string> ZooKeeperServer::command_line() const {
  std::vector<std::string> words{find_program("java", "default-jre-headless"),
                                 "-Xmx128m",
                                 "-XX:TieredStopAtLevel=1",
                                 "-XX:+UseSerialGC",
                                 "-Xshare:auto",
                                 "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
                                 "-Dorg.slf4j.simpleLogger.showDateTime=true",
                                 "-Dzookeeper.forceSync=no",
                                 "-Dzookeeper.preAllocSize=1024"};
  if (options_.tls) {
    const std::string key = (directory_.path() / "server.pem").string();
    const std::string trust = (directory_.path() / "trust.pem").string();
    for (const std::string& property :
         {std::string("serverCnxnFactory=org.apache.zookeeper.server.NettyServerCnxnFactory"),
          "ssl.keyStore.location=" + key, std::string("ssl.keyStore.type=PEM"),
          "ssl.trustStore.location=" + trust, std::string("ssl.trustStore.type=PEM"),
          std::string("ssl.clientAuth=none"), std::string("ssl.hostnameVerification=false")}) {
      words.push_back("-Dzookeeper." + property);
    }
  }
  for (const std::string& property : options_.properties) words.push_back("-D" + property);
  words.insert(words.end(), options_.jvm.begin(), options_.jvm.end());
  words.insert(words.end(),
               {"-cp", class_path(product_), "org.apache.zookeeper.server.quorum.QuorumPeerMain",
                (directory_.path() / "zoo.cfg").string()});
  return words;
}

void ZooKeeperServer::launch() {
  product_.report();
  if (options_.movable_clock && !clock_) {
    clock_ = std::make_unique<MovableClock>(directory_.path() / "clock");
  }
  process_ =
      std::make_unique<ServerProcess>(command_line(), directory_.path() / "log",
                                      clock_ ? clock_->environment() : std::vector<std::string>());
}

void ZooKeeperServer::wait_until_it_serves() {
  const auto serves = [this] {
    if (mode().empty()) return false;
    if (!options_.tls) return true;
    const int encrypted = connect_to(tls_port_);  // It comes after the other.
    if (encrypted >= 0) ::close(encrypted);
    return encrypted >= 0;
  };
  wait_for("ZooKeeper to serve", [&] { return !process_->running() || serves(); }, kStart);
  if (!process_->running()) throw std::runtime_error("ZooKeeper has ended: " + log());
}

void ZooKeeperServer::restart() {
  process_->kill();
  launch();
  wait_until_it_serves();
}

std::string ZooKeeperServer::host() const {
  return "127.0.0.1:" + std::to_string(options_.tls ? tls_port_ : port_);
}

std::string ZooKeeperServer::url() const {
  if (!options_.tls) return "zookeeper://" + host();
  return "zookeeper+tls://" + host() + "?ca=" + Certificates::shared().ca();
}

std::string ZooKeeperServer::mode() const {
  const std::string said = ask("srvr");
  const std::string label = "Mode: ";
  const std::size_t at = said.find(label);
  if (at == std::string::npos) return {};
  const std::size_t begin = at + label.size();
  return said.substr(begin, said.find('\n', begin) - begin);
}

std::string ZooKeeperServer::ask(const std::string& word) const {
  const int socket = connect_to(port_);
  if (socket < 0) return {};
  const std::unique_ptr<const int, void (*)(const int*)> closer(
      &socket, [](const int* descriptor) { ::close(*descriptor); });
  if (::send(socket, word.data(), word.size(), MSG_NOSIGNAL) < 0) return {};
  std::string answer;
  const auto limit = std::chrono::steady_clock::now() + 2s;
  for (;;) {
    pollfd ready{.fd = socket, .events = POLLIN, .revents = 0};
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(limit - std::chrono::steady_clock::now());
    if (left.count() <= 0) return {};
    if (::poll(&ready, 1, static_cast<int>(left.count())) <= 0) continue;
    std::array<char, 4096> part{};
    const ssize_t size = ::recv(socket, part.data(), part.size(), 0);
    if (size <= 0) return answer;
    answer.append(part.data(), static_cast<std::size_t>(size));
  }
}

// ---- Ensemble ----------------------------------------------------------------------------------

ZooKeeperEnsemble::ZooKeeperEnsemble(ZooKeeperEnsembleOptions options)
    : options_(std::move(options)) {
  struct Ports {
    int client, quorum, election;
  };
  std::vector<Ports> ports;
  for (int i = 0; i < options_.count; ++i) {
    ports.push_back({free_port(), free_port(), free_port()});
  }
  const auto line = [](std::size_t index, int quorum, int election) {
    return "server." + std::to_string(index + 1) + "=127.0.0.1:" + std::to_string(quorum) + ":" +
           std::to_string(election);
  };
  ZooKeeperOptions server = options_.server;
  server.tls = options_.tls;
  for (std::size_t own = 0; own < ports.size(); ++own) {
    ZooKeeperServer::Member member{.id = static_cast<int>(own) + 1, .lines = {}};
    for (std::size_t other = 0; other < ports.size(); ++other) {
      Ports seen = ports[other];
      if (options_.proxied_first && own == 0 && other != 0) {
        proxies_.push_back(std::make_unique<Proxy>(seen.quorum));
        seen.quorum = proxies_.back()->port();
        proxies_.push_back(std::make_unique<Proxy>(seen.election));
        seen.election = proxies_.back()->port();
      }
      member.lines.push_back(line(other, seen.quorum, seen.election));
    }
    servers_.push_back(std::unique_ptr<ZooKeeperServer>(
        new ZooKeeperServer(server, std::move(member), ports[own].client)));
  }
  wait_until_all_serve();
}

void ZooKeeperEnsemble::restart_dead() {
  for (const auto& server : servers_) {
    if (!server->running()) server->launch();
  }
  wait_until_all_serve();
}

void ZooKeeperEnsemble::wait_until_all_serve() {
  for (const auto& server : servers_) {
    if (server->running()) server->wait_until_it_serves();
  }
}

std::string ZooKeeperEnsemble::url() const {
  std::string hosts;
  for (const auto& server : servers_) hosts += (hosts.empty() ? "" : ",") + server->host();
  if (!options_.tls) return "zookeeper://" + hosts;
  return "zookeeper+tls://" + hosts + "?ca=" + Certificates::shared().ca();
}

std::size_t ZooKeeperEnsemble::leader() {
  std::size_t found = 0;
  wait_for(
      "a leader",
      [&] {
        for (std::size_t i = 0; i < servers_.size(); ++i) {
          if (!servers_[i]->running() || servers_[i]->mode() != "leader") continue;
          found = i;
          return true;
        }
        return false;
      },
      kStart);
  return found;
}

void ZooKeeperEnsemble::isolate_first(bool isolated) {
  for (const auto& proxy : proxies_) {
    proxy->set_both(isolated ? ProxyMode::hold : ProxyMode::pass);
    // Bytes that were held would come in the middle of requests that have been given up since.
    if (!isolated) proxy->reset();
  }
}

}  // namespace holdfast::test
