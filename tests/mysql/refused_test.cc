// The client library keeps the address of errno across the wait for a connection. Our loop goes on with that wait on
// whatever thread drives it, and the one that began it may have ended: a connection that is refused late wrote
// into memory of another thread, or of none.
#include <arpa/inet.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "contract.h"

namespace holdfast::mysql_tests {
namespace {

using namespace contract;  // NOLINT(google-build-using-namespace): test code

// A port at which connections are neither taken nor refused, until it is closed.
class FullPort {
 public:
  FullPort() {
    listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(listen(listener_, 0), 0);
    socklen_t size = sizeof address;
    getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    for (int& filler : fillers_) {
      filler = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
      static_cast<void>(connect(filler, reinterpret_cast<sockaddr*>(&address), sizeof address));
    }
  }
  ~FullPort() {
    close_it();
    for (const int filler : fillers_) close(filler);
  }
  FullPort(const FullPort&) = delete;
  FullPort& operator=(const FullPort&) = delete;

  int port() const { return port_; }
  void close_it() {
    if (listener_ >= 0) close(std::exchange(listener_, -1));
  }

 private:
  int listener_ = -1;
  int port_ = 0;
  std::array<int, 4> fillers_{};
};

TEST(MysqlRefused, AConnectionThatIsRefusedLateTouchesNoOtherThread) {
  FullPort full;
  const std::string url = "mysql://app@127.0.0.1:" + std::to_string(full.port()) +
                          "/app?connect_timeout_ms=15000&recipe=table";
  Client client = Client::open(url, {.request_timeout = 300ms}).value();
  // It begins to connect, and leaves before there is an answer: others go on with that.
  const Result<Lease> lease = client.mutex("x").try_acquire();
  EXPECT_EQ(outcome_of(lease), "unreachable");
  errno = 0;
  full.close_it();
  // The second SYN, a second after the first, is refused. Nothing below sets errno.
  const BootTime until = BootClock::now() + 3s;
  while (errno == 0 && BootClock::now() < until) sched_yield();
  EXPECT_EQ(errno, 0) << "another thread has written into this one's errno";
}

}  // namespace
}  // namespace holdfast::mysql_tests
