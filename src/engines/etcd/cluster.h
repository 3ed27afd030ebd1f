// Cluster: the members of an etcd cluster as one. Calls go to one member, over one connection; when it does not
// answer, has lost its leader or is gone, they go to the next one. Logs in, and again when the login has expired.
// Inside the loop only.
#pragma once

#include <optional>
#include <stop_token>
#include <string>

#include "engines/etcd/keys.h"
#include "engines/etcd/settings.h"
#include "holdfast/runtime.h"
#include "wire/grpc_channel.h"

namespace holdfast::internal::etcd {

enum class Method {
  range,
  txn,
  remove,
  lease_grant,
  lease_revoke,
  lease_keep_alive,
  lease_time_to_live,
  authenticate,
  status,
  member_list,
  alarm,
};

template <class Message>
struct Answer {
  Message message;
  BootTime sent_at;              // of the attempt that was answered
  std::uint64_t connection = 0;  // which one; the same number, the same member
  // An earlier attempt was sent and not answered: it may have been executed, or may yet be.
  bool repeated = false;
};

class Cluster {
 public:
  template <class Message>
  using Answered = Task<Result<Answer<Message>>>;

  Cluster(Runtime& runtime, const Settings& settings);
  ~Cluster();

  // All of these repeat what was not answered, at the next member, until the deadline: a request must have the same
  // effect if it is executed twice. unreachable, misconfigured: it was not executed. unknown: it may have been, or
  // may yet be. A refusal by etcd is a failure.
  Answered<std::string> call(Method method, std::string message, Deadline deadline,
                             std::stop_token stop = {});
  Answered<TxnAnswer> txn(Txn txn, Deadline deadline, std::stop_token stop = {});
  // The keys that were removed.
  Answered<std::vector<KeyValue>> remove(std::string key, Deadline deadline);

  // The same for requests without lasting effects: a lost answer is `unreachable`, never `unknown`.
  // REQUIRES: the transaction only reads.
  Answered<TxnAnswer> read(Txn txn, Deadline deadline, std::stop_token stop = {});
  Answered<RangeAnswer> range(Range range, Deadline deadline, std::stop_token stop = {});
  // Grant (a lease that nobody knows of ends by itself), keep alive, time to live.
  Answered<LeaseAnswer> lease(Method method, std::string message, Deadline deadline,
                              std::stop_token stop = {});

  // True if `failure` says that the lease does not exist (any more).
  static bool is_lease_not_found(const Failure& failure);

  // One stream for watches, at the member that calls go to.
  Task<Result<void>> open(Deadline deadline, std::stop_token stop = {});
  Task<Result<GrpcCallId>> open_watches(std::string first, GrpcStreamListener& listener,
                                        Deadline deadline);
  void send(GrpcCallId stream, std::string_view message) { channel_.send(stream, message); }
  void close_stream(GrpcCallId stream) { channel_.close_stream(stream); }
  // Logs in anew if the end of a stream, or the refusal of a watch, says that the login has expired.
  void forget_login(const std::string& why);

  std::uint64_t connection() const { return channel_.generation(); }
  bool connected() const { return channel_.connected(); }
  const Settings& settings() const { return settings_; }
  Keys keys_of(const Name& name) const { return Keys(settings_.prefix, name); }
  Deadline request_deadline(Deadline deadline = Deadline::never()) const {
    return deadline.sooner(runtime_.now() + settings_.request_timeout);
  }
  Failure failed(Code code, const std::string& why) const { return channel_.failed(code, why); }

 private:
  struct Attempts {
    int unconnected = 0;
    int logins = 0;
    bool unsure = false;
    Duration pause = std::chrono::milliseconds(5);
    std::optional<Failure> last;
  };

  template <class Message>
  Answered<Message> decoded(Method method, std::string request,
                            std::optional<Message> (*decode)(std::string_view), Deadline deadline,
                            std::stop_token stop);
  // The next call goes to another member.
  void leave_member(const std::string& why);
  void leave_if_silent(BootTime begun);
  Failure failure_of(const GrpcReply& reply) const;
  Deadline attempt_deadline(Deadline deadline) const;
  // False if there is no sense in another attempt.
  bool learn(const Result<GrpcReply>& reply, BootTime begun, Deadline attempt, Attempts& attempts);
  void report_refusal(const Failure& why);
  Failure end_of(const Attempts& attempts, Deadline deadline) const;
  GrpcMetadata metadata() const;
  bool needs_login() const { return !settings_.user.empty() && token_.empty(); }
  Task<Result<void>> log_in(Deadline deadline, std::stop_token stop);
  Task<void> authenticate();

  Runtime& runtime_;
  const Settings settings_;
  std::size_t member_;
  BootTime last_answer_{};
  std::optional<BootTime> silent_since_;
  std::string token_;
  bool logging_in_ = false;
  Event logged_in_;
  Result<void> login_;
  GrpcChannel channel_;
  TaskGroup background_;  // Last: its tasks end before what they use.
};

}  // namespace holdfast::internal::etcd
