// holdfast serve: locks over HTTP, and a page that shows them.
#include "serve/command.h"

#include <sys/resource.h>
#include <sys/stat.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <charconv>
#include <cstdio>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

#include "places.h"
#include "run/service_notifier.h"
#include "secrets.h"
#include "serve/daemon.h"
#include "serve/server.h"

namespace holdfast::cli {
namespace {

using serve::Listen;
using serve::Settings;

constexpr const char* kServeExamples = R"(Examples:
  holdfast serve                          the page at http://127.0.0.1:7272/, locks below /v1/
  holdfast serve --on redis://127.0.0.1 --on orders=postgres://db/locks
  holdfast serve --listen unix:/run/holdfast/http.sock
  holdfast serve --listen 0.0.0.0:7272 --tls-cert c.pem --tls-key k.pem --token-file /etc/holdfast/token
  curl -d '{"ttl_ms":60000}' -H 'Content-Type: application/json' http://127.0.0.1:7272/v1/locks/nightly
  curl -N -X POST http://127.0.0.1:7272/v1/locks/nightly/hold     held until curl ends

Serves any number of engines; each has a name, its scheme unless NAME= says another. On loopback everybody on
this machine may take and break locks, unless there is a --token-file; a unix socket is its owner's alone.
Anything else needs TLS and a token. Requests from pages of other origins are refused. SIGTERM ends it: locks
that are bound to connections are given back, those that their clients renew go on until their ttl ends, and
can be renewed through the next daemon. SIGHUP reads certificate and key anew.

Exit status: 0 ended by a signal; 64 bad usage, 78 cannot listen, or bad configuration.)";

struct ServeOptions {
  std::string listen = "127.0.0.1:7272";
  std::string tls_cert;
  std::string tls_key;
  std::string token_file;
  std::vector<std::string> hosts;
  bool read_only = false;
  std::string otlp;
};

Failure bad(std::string message) { return Failure(Code::invalid_argument, std::move(message)); }

Result<Listen> parse_listen(const std::string& text) {
  Listen listen;
  if (text.starts_with("unix:")) {
    listen.path = text.substr(5);
    // sun_path has room for 107 bytes.
    if (listen.path.empty() || listen.path.size() > 107)
      return bad("--listen unix:PATH wants a path of 1 to 107 bytes");
    return listen;
  }
  const std::size_t colon = text.rfind(':');
  const std::string port = colon == std::string::npos ? "" : text.substr(colon + 1);
  listen.host = text.substr(0, std::min(colon, text.size()));
  if (listen.host.starts_with('[') && listen.host.ends_with(']'))
    listen.host = listen.host.substr(1, listen.host.size() - 2);
  if (listen.host == "localhost") listen.host = "127.0.0.1";
  boost::system::error_code error;
  const auto address = boost::asio::ip::make_address(listen.host, error);
  const auto [end, failed] = std::from_chars(port.data(), port.data() + port.size(), listen.port);
  if (error || port.empty() || failed != std::errc() || end != port.data() + port.size()) {
    return bad(
        "--listen wants ADDRESS:PORT with an IP address, such as 127.0.0.1:7272, or unix:PATH; "
        "not " +
        quoted_word(text));
  }
  listen.loopback = address.is_loopback();
  return listen;
}

Result<std::string> read_token(const std::string& path) {
  std::ifstream file(path);
  std::string token;
  struct stat found{};
  if (file && stat(path.c_str(), &found) == 0 && (found.st_mode & S_IROTH) != 0) {
    return Failure(Code::misconfigured, "everybody on this machine can read the token in " +
                                            quoted_word(path) + "; chmod o-r it");
  }
  if (!file || !std::getline(file, token))
    return Failure(Code::misconfigured, "cannot read a token from " + quoted_word(path));
  while (!token.empty() && (token.back() == '\r' || token.back() == ' ')) token.pop_back();
  constexpr std::size_t kShortest = 16;
  if (token.size() < kShortest) {
    return Failure(Code::misconfigured,
                   "the token in " + quoted_word(path) +
                       " is too short to be a secret: 16 characters at least, such as from "
                       "`openssl rand -hex 32`");
  }
  if (!std::ranges::all_of(token, [](char each) { return each > ' ' && each < 0x7f; })) {
    return Failure(Code::misconfigured,
                   "the token in " + quoted_word(path) +
                       " has characters that no header can carry as they are: visible ASCII only");
  }
  remember_secret(token, "***");
  return token;
}

// Loopback is for everybody on this machine; what is reached from elsewhere must know its callers.
Result<void> check_reach(const Settings& settings) {
  if (settings.tls_cert.empty() != settings.tls_key.empty())
    return bad("--tls-cert and --tls-key go together");
  if (settings.listen.is_unix() || settings.listen.loopback) return {};
  if (!settings.tls() || settings.token.empty()) {
    return bad("--listen " + settings.listen.host +
               " is reached from other machines: that needs --tls-cert, --tls-key and "
               "--token-file. On loopback, behind a "
               "proxy of your own, it needs none");
  }
  return {};
}

Result<std::vector<serve::EngineSettings>> engines_of(const Session& session) {
  Result<std::vector<Place>> places = places_of(session);
  if (!places) return places.failure();
  std::vector<serve::EngineSettings> engines;
  for (Place& place : *places) engines.push_back({std::move(place.name), std::move(place.url)});
  return engines;
}

Result<Settings> settings_of(const Session& session, const ServeOptions& options) {
  Settings settings;
  Result<Listen> listen = parse_listen(options.listen);
  if (!listen) return listen.failure();
  settings.listen = std::move(*listen);
  settings.tls_cert = options.tls_cert;
  settings.tls_key = options.tls_key;
  settings.hosts = options.hosts;
  settings.read_only = options.read_only;
  std::string unusable;  // The variables are for other programs too: they stop nothing.
  settings.collector = Collector::from_environment(unusable);
  if (!options.otlp.empty()) {
    Result<Collector> collector = Collector::parse(options.otlp, "--otlp");
    if (!collector) return collector.failure();
    settings.collector = std::move(*collector);
  }
  Result<std::optional<LogOptions>> log = session.log();
  if (!log) return log.failure();
  settings.log = std::move(*log);
  if (!options.token_file.empty()) {
    Result<std::string> token = read_token(options.token_file);
    if (!token) return token.failure();
    settings.token = std::move(*token);
  }
  if (Result<void> fit = check_reach(settings); !fit) return fit.failure();
  Result<std::vector<serve::EngineSettings>> engines = engines_of(session);
  if (!engines) return engines.failure();
  settings.engines = std::move(*engines);
  return settings;
}

// A held request is a descriptor.
void raise_descriptor_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

void say_where(const Session& session, const serve::Server& server, const Settings& settings) {
  if (session.json) {
    Json object = {{"listening", server.address()}, {"engines", Json::array()}};
    for (const auto& engine : settings.engines) object["engines"].push_back(engine.name);
    session.print(object);
  } else {
    std::string names;
    for (const auto& engine : settings.engines) names += (names.empty() ? "" : ", ") + engine.name;
    std::printf("holdfast: serving %s on %s\n", names.c_str(), server.address().c_str());
  }
  std::fflush(stdout);
}

int run_daemon(const Session& session, const ServeOptions& options) {
  const Result<Settings> settings = settings_of(session, options);
  if (!settings) return session.fail(settings.failure());
  raise_descriptor_limit();
  std::signal(SIGPIPE, SIG_IGN);
  boost::asio::io_context context(1);
  Result<std::unique_ptr<serve::Daemon>> daemon = serve::Daemon::open(context, *settings);
  if (!daemon) return session.fail(daemon.failure());
  serve::Server server(context, *settings, **daemon);
  if (Result<void> listening = server.listen(); !listening)
    return session.fail(listening.failure());
  (*daemon)->count_connections([&server] { return server.connections(); });
  (*daemon)->start();
  server.start([&daemon] { (*daemon)->stop(); }, [&daemon] { return (*daemon)->at_rest(); });
  say_where(session, server, *settings);
  static_cast<void>(ServiceNotifier::from_environment().tell("READY=1"));
  context.run();
  return kOk;
}

}  // namespace

void add_serve(CLI::App& app, Invocation& invocation) {
  CLI::App* command =
      app.add_subcommand("serve", "Serve locks over HTTP, and a page that shows them");
  auto options = std::make_shared<ServeOptions>();
  command->add_option("--listen", options->listen, "ADDRESS:PORT or unix:PATH")
      ->type_name("WHERE")
      ->capture_default_str();
  command->add_option("--tls-cert", options->tls_cert, "Certificate chain (PEM)")
      ->type_name("FILE");
  command->add_option("--tls-key", options->tls_key, "Its key (PEM)")->type_name("FILE");
  command
      ->add_option("--token-file", options->token_file,
                   "Requests must carry the token on its first line; others may not read it")
      ->type_name("FILE");
  command->add_option("--host", options->hosts, "A further name by which browsers reach the daemon")
      ->type_name("NAME");
  command->add_flag("--read-only", options->read_only, "Show locks, but take and break none");
  command
      ->add_option(
          "--otlp", options->otlp,
          "Where traces go, by OTLP over HTTP (default: OTEL_EXPORTER_OTLP_ENDPOINT, else nowhere)")
      ->type_name("URL");
  command->footer(kServeExamples);
  command->callback([&invocation, options] {
    invocation.action = [&invocation, options] { return run_daemon(invocation.session, *options); };
  });
}

}  // namespace holdfast::cli
