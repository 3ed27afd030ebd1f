#include "engines/memcached/dump.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "engines/memcached/reply.h"

namespace holdfast::internal::memcached {

namespace {

// "a%20b" as the crawler writes keys. Nothing if it is not that.
std::optional<std::string> unescaped(std::string_view text) {
  std::string bytes;
  while (!text.empty()) {
    if (text.front() != '%') {
      bytes += text.front();
      text.remove_prefix(1);
      continue;
    }
    if (text.size() < 3) return std::nullopt;
    const std::optional<std::string> byte = bytes_from_hex(text.substr(1, 2));
    if (!byte) return std::nullopt;
    bytes += *byte;
    text.remove_prefix(3);
  }
  return bytes;
}

class Dump final : private StreamListener {
 public:
  Dump(Runtime& runtime, std::function<bool(std::string_view)> wanted)
      : wanted_(std::move(wanted)), done_(runtime) {}

  // Nothing if the crawler was busy with others.
  Task<Result<bool>> run(Runtime& runtime, const Endpoint& endpoint, Deadline deadline) {
    Result<std::unique_ptr<Stream>> stream =
        co_await Stream::connect(runtime, endpoint, nullptr, *this, deadline);
    if (!stream) co_return stream.failure();
    if (!done_.is_set()) (*stream)->send("lru_crawler metadump hash\r\n");
    const Woken woken = co_await done_.wait(deadline);
    if (woken != Woken::signalled) co_return Failure(Code::unreachable, "no list of keys in time");
    if (failure_) co_return *failure_;
    co_return !busy_;
  }

  std::vector<std::string> keys;

 private:
  void on_bytes(std::string_view bytes) override {
    std::string problem;
    const bool sound = parser_.feed(bytes, [this](const Reply& reply) { on_line(reply); }, problem);
    if (!sound) on_closed(problem);
  }
  void on_closed(const std::string& why) override {
    if (!done_.is_set()) end(Failure(Code::unreachable, "no list of keys: " + why));
  }
  void on_line(const Reply& reply) {
    constexpr std::string_view kKey = "key=";
    if (done_.is_set()) return;
    if (reply.status.starts_with(kKey)) {
      if (reply.rest.starts_with("exp=-1 ")) return;  // a lock's word has a ttl
      std::optional<std::string> key =
          unescaped(std::string_view(reply.status).substr(kKey.size()));
      if (key && wanted_(*key)) keys.push_back(std::move(*key));
    } else if (reply.is("OK") && !std::exchange(begun_, true)) {
      // memcached 1.6.45 says so before the first key; older ones do not.
    } else if (reply.is("END")) {
      end(std::nullopt);
    } else if (reply.is("BUSY")) {
      busy_ = true;
      end(std::nullopt);
    } else {
      end(Failure(Code::misconfigured, "it does not list its keys ('" +
                                           reply.text().substr(0, 100) +
                                           "'): is its LRU crawler disabled (-o no_lru_crawler)?"));
    }
  }
  void end(std::optional<Failure> failure) {
    failure_ = std::move(failure);
    done_.set();
  }

  std::function<bool(std::string_view)> wanted_;
  ReplyParser parser_;
  Event done_;
  bool begun_ = false;
  bool busy_ = false;
  std::optional<Failure> failure_;
};

}  // namespace

Task<Result<std::vector<std::string>>> dump_keys(Runtime& runtime, Endpoint endpoint,
                                                 std::function<bool(std::string_view)> wanted,
                                                 Deadline deadline) {
  constexpr Duration kPause = std::chrono::milliseconds(20);
  for (;;) {
    Dump dump(runtime, wanted);
    const Result<bool> whole = co_await dump.run(runtime, endpoint, deadline);
    if (!whole) co_return whole.failure();
    if (*whole) {
      // The table may grow meanwhile, and an item be met twice.
      std::sort(dump.keys.begin(), dump.keys.end());
      dump.keys.erase(std::unique(dump.keys.begin(), dump.keys.end()), dump.keys.end());
      co_return std::move(dump.keys);
    }
    const BootTime again = runtime.now() + runtime.jitter(kPause, 0.5);
    if (deadline.passed(again)) {
      co_return Failure(Code::unreachable, "its crawler is busy listing keys for others");
    }
    static_cast<void>(co_await sleep_until(runtime, again));
  }
}

}  // namespace holdfast::internal::memcached
