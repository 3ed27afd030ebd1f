// The messages between the runner and its guard, over a SOCK_SEQPACKET socket pair: each arrives
// whole or not at all, and the end of either process is seen as the end of the socket.
//
//   runner ── start, extend, lost, signal ──► guard
//   runner ◄── started, stopped, ended ────── guard
//
// Sending never blocks (the other side may be stopped): a message that does not fit is dropped.
// Every message is safe to lose: without an extension the command ends early, never late.
// Thread safety: sending, from any thread.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>

#include "child.h"
#include "deadlines.h"
#include "lock_variables.h"

namespace holdfast::cli {

struct ToGuard {
  enum class Kind {
    start,   // run the command; carries the engine's liveness descriptor if there is one
    extend,  // the lock was renewed: new deadlines
    lost,    // the lock is gone: end the command now
    signal,  // pass a signal on to the command
  };
  Kind kind{};
  int signal = 0;
  bool foreground = false;  // start: make the command's group the terminal's foreground group
  Deadlines deadlines{};
  std::array<std::uint64_t, kMaxNames> tokens{};  // start: of Command::locks
  std::int64_t valid_until_ms = 0;                // wall clock, for people and logs
};

struct FromGuard {
  enum class Kind {
    started,  // `pid` is the command, and its process group; carries a pidfd of the guard
    stopped,  // by job control: `value` is the signal
    ended,    // `value` is its wait status
  };
  Kind kind{};
  pid_t pid = 0;
  int value = 0;
  StartError start_error;  // ended: why the command was never there
  bool too_late = false;   // ended: by the guard, or not begun, because the lock's time was over
};

// `descriptor`, if not negative, travels along. False if it was not delivered.
bool send_message(int socket, const void* message, std::size_t size, int descriptor = -1);
template <class Message>
bool send_message(int socket, const Message& message, int descriptor = -1) {
  return send_message(socket, &message, sizeof message, descriptor);
}

enum class Received { message, nothing, closed };

// Does not block. A descriptor that came along is stored (close-on-exec), otherwise -1.
Received receive_message(int socket, void* message, std::size_t size, int* descriptor);
template <class Message>
Received receive_message(int socket, Message& message, int* descriptor = nullptr) {
  return receive_message(socket, &message, sizeof message, descriptor);
}

}  // namespace holdfast::cli
