// An Asio service: every session waits for the same lock, on one thread, and answers with its token.
#include <asio.hpp>
#include <iostream>

#include "holdfast/asio.h"
#include "holdfast/holdfast.h"

using asio::use_awaitable;
using asio::ip::tcp;

asio::awaitable<void> serve(tcp::socket socket, holdfast::Mutex& mutex) {
  auto wait = mutex.async_try_acquire_for(std::chrono::seconds(5));
  auto lease = co_await holdfast::initiate(std::move(wait), use_awaitable);
  const std::string said = lease ? "token " + to_string(lease->token()) : lease.message();
  co_await asio::async_write(socket, asio::buffer(said), use_awaitable);
  if (lease) static_cast<void>(co_await holdfast::initiate(lease->async_release(), use_awaitable));
}

int main() {
  auto client = holdfast::Client::open().value();
  auto mutex = client.mutex("account");
  asio::io_context service;
  tcp::acceptor acceptor(service, {asio::ip::address_v4::loopback(), 0});
  std::vector<tcp::socket> visitors;
  for (int i = 0; i < 3; ++i) {
    visitors.emplace_back(service).connect(acceptor.local_endpoint());
    asio::co_spawn(service, serve(acceptor.accept(), mutex), asio::detached);
  }
  service.run();  // until all have been served
  for (tcp::socket& visitor : visitors) {
    std::string said(100, ' ');
    said.resize(visitor.read_some(asio::buffer(said)));
    std::cout << said << '\n';
    if (!said.starts_with("token")) return 1;
  }
}
