// WakeSocket: tells a waiter in another process that it has the lock, without its reading the
// database. One datagram socket per client that waits, in the directory DB-wake. A message is a
// hint with the facts in it; the database alone decides, and a waiter whose message is lost finds
// out by looking. The directory is its owner's or group's alone (checked each time that it is opened): a
// message is believed, so nobody else may send one.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>

#include "engines/sqlite/liveness.h"
#include "holdfast/engine.h"
#include "wire/descriptor_watch.h"

namespace holdfast::internal {

struct WakeMessage {
  ClaimId claim;
  std::optional<Grant> grant;  // none: look at the database again
};

class WakeSocket {
 public:
  using OnMessage = std::function<void(const WakeMessage&)>;

  WakeSocket(const std::filesystem::path& database, Runtime& runtime, ProcessId me,
             const Ownership& ownership);
  ~WakeSocket();

  // Begins to receive; later calls do nothing. Throws std::system_error.
  void listen(OnMessage on_message);
  bool listening() const { return receiver_ != nullptr; }
  // Removes the socket of a process that is gone.
  void forget(ProcessId process);
  // True if it was delivered to the receiver's queue, or can never be (the receiver is gone).
  // False: its queue is full for now.
  bool send(ProcessId to, const WakeMessage& message);

 private:
  std::string address_of(ProcessId process) const;
  void make_directory();
  bool find_directory_again();
  void receive(const OnMessage& on_message);

  std::filesystem::path directory_;
  Runtime& runtime_;
  ProcessId me_;
  Ownership ownership_;
  int directory_descriptor_ = -1;
  int sender_ = -1;
  std::unique_ptr<DescriptorWatch> receiver_;
};

}  // namespace holdfast::internal
