// Takes a lock in the database named by the first argument and prints its token.
#include <holdfast/holdfast.h>

#include <iostream>
#include <string>

int main(int argc, char** argv) {
  if (argc != 2) return 64;
  auto client = holdfast::Client::open("sqlite://" + std::string(argv[1]));
  if (!client) {
    std::cerr << client.message() << '\n';
    return 69;
  }
  auto mutex = client->mutex("consumer");
  auto lease = mutex.try_acquire();
  if (!lease) {
    std::cerr << lease.message() << '\n';
    return 75;
  }
  std::cout << lease->token().str() << '\n';
}
