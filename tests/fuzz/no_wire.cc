// Instead of wire/stream.cc and wire/tls.cc: no socket is opened and no file is read.
#include "fuzz.h"
#include "played_server.h"
#include "wire/stream.h"

namespace holdfast::fuzz {

namespace {
PlayedServer* the_server = nullptr;
}  // namespace

PlayedServer::PlayedServer(Runtime& runtime, std::string_view said) : said_(said), tasks_(runtime) {
  the_server = this;
}
PlayedServer::~PlayedServer() { the_server = nullptr; }
PlayedServer* PlayedServer::current() { return the_server; }

std::optional<std::string_view> PlayedServer::next() {
  if (said_.empty()) return std::nullopt;
  return take_until(said_, '\x01');
}

}  // namespace holdfast::fuzz

namespace holdfast::internal {

using fuzz::PlayedServer;

class Stream::State {
 public:
  State(Runtime& runtime, StreamListener& listener) : runtime_(runtime), listener_(listener) {}

  bool open = true;

  // After a moment, as from a socket: never while the client still sends.
  static Task<void> answer(std::shared_ptr<State> self, std::string_view part) {
    static_cast<void>(
        co_await sleep_until(self->runtime_, self->runtime_.now() + std::chrono::milliseconds(1)));
    if (!self->open) co_return;
    if (part.empty()) {
      self->open = false;
      self->listener_.on_closed("the server closed it");
    } else {
      self->listener_.on_bytes(part);
    }
  }

 private:
  Runtime& runtime_;
  StreamListener& listener_;
};

Task<Result<std::unique_ptr<Stream>>> Stream::connect(Runtime& runtime, Endpoint,
                                                      std::shared_ptr<const TlsContext>,
                                                      StreamListener& listener, Deadline) {
  if (!PlayedServer::current()) co_return Failure(Code::unreachable, "there is no server");
  co_return std::unique_ptr<Stream>(new Stream(std::make_shared<State>(runtime, listener)));
}

Stream::~Stream() { state_->open = false; }

void Stream::send(std::string_view) {
  PlayedServer* server = PlayedServer::current();
  if (!server) return;
  if (const auto part = server->next()) server->tasks().spawn(State::answer(state_, *part));
}

Result<std::shared_ptr<const TlsContext>> TlsContext::make(const TlsSettings&) {
  return Failure(Code::misconfigured, "no TLS here");
}

}  // namespace holdfast::internal
