#include "serve/otlp.h"

#include <boost/asio/connect.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>

#include "secrets.h"

namespace holdfast::cli::serve {
namespace {

namespace http = boost::beast::http;
using boost::system::error_code;

constexpr std::size_t kMaxBatches = 64;
constexpr std::chrono::seconds kPatience{5};

}  // namespace

Result<Collector> Collector::parse(const std::string& url) {
  constexpr std::string_view kScheme = "http://";
  const std::string_view rest = std::string_view(url).substr(std::min(url.size(), kScheme.size()));
  const std::string_view authority = rest.substr(0, rest.find('/'));
  if (!url.starts_with(kScheme) || authority.empty() || authority.find('@') != std::string_view::npos) {
    return Failure(Code::invalid_argument,
                   "--otlp wants the http:// address of a collector, such as http://127.0.0.1:4318; not " +
                       quoted_word(url));
  }
  Collector collector;
  const std::size_t colon = authority.ends_with(']') ? std::string_view::npos : authority.rfind(':');
  collector.host = authority.substr(0, colon);
  collector.port = colon == std::string_view::npos ? "4318" : std::string(authority.substr(colon + 1));
  if (collector.host.starts_with('[')) collector.host = collector.host.substr(1, collector.host.size() - 2);
  collector.path = rest.substr(authority.size());
  if (collector.path.empty() || collector.path == "/") collector.path = "/v1/traces";
  return collector;
}

Otlp::Otlp(net::io_context& context, Collector collector)
    : context_(context), collector_(std::move(collector)), signal_(context) {}

void Otlp::send(std::string json) {
  net::post(context_, [this, json = std::move(json)]() mutable {
    if (batches_.size() >= kMaxBatches) {
      batches_.pop_front();
      ++dropped_;
    }
    batches_.push_back(std::move(json));
    signal_.cancel();
  });
}

Awaitable<bool> Otlp::post(const std::string& json) {
  error_code error;
  net::ip::tcp::resolver resolver(context_);
  const auto found = co_await resolver.async_resolve(collector_.host, collector_.port,
                                                     net::redirect_error(net::use_awaitable, error));
  if (error) co_return false;
  boost::beast::tcp_stream stream(context_);
  stream.expires_after(kPatience);
  co_await stream.async_connect(found, net::redirect_error(net::use_awaitable, error));
  if (error) co_return false;
  http::request<http::string_body> request(http::verb::post, collector_.path, 11);
  request.set(http::field::host, collector_.host);
  request.set(http::field::content_type, "application/json");
  request.body() = json;
  request.prepare_payload();
  co_await http::async_write(stream, request, net::redirect_error(net::use_awaitable, error));
  if (error) co_return false;
  boost::beast::flat_buffer buffer;
  http::response<http::string_body> response;
  co_await http::async_read(stream, buffer, response, net::redirect_error(net::use_awaitable, error));
  co_return !error && response.result_int() / 100 == 2;
}

Awaitable<void> Otlp::run() {
  for (;;) {
    while (batches_.empty()) {
      signal_.expires_at(net::steady_timer::time_point::max());
      error_code ignored;
      co_await signal_.async_wait(net::redirect_error(net::use_awaitable, ignored));
    }
    const std::string batch = std::move(batches_.front());
    batches_.pop_front();
    const bool sent = co_await post(batch);
    if (sent) continue;
    ++dropped_;
    // Not again at once: a collector that restarts needs a moment.
    signal_.expires_after(std::chrono::seconds(1));
    error_code ignored;
    co_await signal_.async_wait(net::redirect_error(net::use_awaitable, ignored));
  }
}

}  // namespace holdfast::cli::serve
