// A host with an Asio of its own, built with other settings than a library would choose. It runs its
// loop while it holds a lock in the database named by the first argument, and prints the token.
#define ASIO_STANDALONE
#define ASIO_ENABLE_HANDLER_TRACKING
#include <holdfast/asio.h>
#include <holdfast/holdfast.h>

#include <asio.hpp>
#include <iostream>
#include <string>

int main(int argc, char** argv) {
  if (argc != 2) return 64;
  asio::io_context loop;
  asio::steady_timer timer(loop, std::chrono::milliseconds(5));
  int rang = 0;
  timer.async_wait([&](std::error_code) { ++rang; });
  asio::ip::tcp::acceptor acceptor(loop, {asio::ip::address_v4::loopback(), 0});
  asio::ip::tcp::socket socket(loop);
  acceptor.async_accept(socket, [&](std::error_code) { ++rang; });
  asio::ip::tcp::socket other(loop);
  other.async_connect(acceptor.local_endpoint(), [&](std::error_code) { ++rang; });

  auto client = holdfast::Client::open("sqlite://" + std::string(argv[1]));
  if (!client) {
    std::cerr << client.message() << '\n';
    return 69;
  }
  auto second = holdfast::Client::open("sqlite://" + std::string(argv[1]));
  auto lease = client->mutex("host").acquire();
  if (!lease) return 75;
  // Waits in the library's own loop.
  if (second->mutex("host").try_acquire_for(std::chrono::milliseconds(20))) return 70;
  // And in the host's.
  holdfast::initiate(second->mutex("guest").async_acquire(),
                     asio::bind_executor(loop, [&](auto guest) { rang += guest ? 1 : 0; }));
  loop.run();
  if (rang != 4 || !lease->held()) return 70;
  std::cout << lease->token().str() << '\n';
}
