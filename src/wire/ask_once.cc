#include "wire/ask_once.h"

namespace holdfast::internal {

namespace {

class Hearing final : public StreamListener {
 public:
  Hearing(Runtime& runtime, std::function<bool(const std::string&)> complete)
      : done(runtime), complete_(std::move(complete)) {}

  void on_bytes(std::string_view bytes) override {
    constexpr std::size_t kMaxBytes = 1 << 20;  // A stranger may never stop.
    if (heard.size() < kMaxBytes) heard.append(bytes);
    if (complete_(heard) || heard.size() >= kMaxBytes) done.set();
  }
  void on_closed(const std::string&) override { done.set(); }
  bool expects_answer() const override { return true; }

  Event done;
  std::string heard;

 private:
  std::function<bool(const std::string&)> complete_;
};

}  // namespace

Task<Result<std::string>> ask_once(Runtime& runtime, Endpoint endpoint,
                                   std::shared_ptr<const TlsContext> tls, std::string question,
                                   std::function<bool(const std::string&)> complete,
                                   Deadline deadline) {
  Hearing hearing(runtime, std::move(complete));
  const Result<std::unique_ptr<Stream>> stream =
      co_await Stream::connect(runtime, std::move(endpoint), std::move(tls), hearing, deadline);
  if (!stream) co_return stream.failure();
  if (!hearing.done.is_set()) (*stream)->send(question);
  if (co_await hearing.done.wait(deadline) != Woken::signalled) {
    co_return Failure(Code::unreachable, "no answer in time");
  }
  co_return hearing.heard;
}

}  // namespace holdfast::internal
