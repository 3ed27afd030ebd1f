// Leases: the holds that this daemon was asked to keep for others, by the text that names each to its owner.
//
// The text is the engine's name and the handle, so a lease can be renewed and released by a daemon that was started
// anew, or by another one on the same engine: what is kept here is only what makes that quicker, and exact. Nothing
// here renews by itself: a lease that its owner does not renew ends after its ttl.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <unordered_map>

#include "serve/engines.h"
#include "serve/returns.h"

namespace holdfast::cli::serve {

struct KeptLease {
  std::string text;
  ServedEngine* engine = nullptr;
  Lease lease;
  Duration ttl{};
  bool over = false;  // lost or released
  std::optional<std::stop_callback<std::function<void()>>> on_lost{};
};

class Leases {
 public:
  Leases(net::io_context& context, const Engines& engines) : context_(context), engines_(engines) {}
  ~Leases() { abandon(); }  // what came while the daemon ended, too

  std::shared_ptr<KeptLease> keep(ServedEngine& engine, Lease lease, Duration ttl);
  // The lease of a hold of a daemon before this one, or of another one: renewed, and kept from now on.
  Awaitable<Result<std::shared_ptr<KeptLease>>> adopt(ServedEngine& engine, Handle handle);
  // Null: it is not kept here (any more).
  std::shared_ptr<KeptLease> find(const std::string& text) const;
  // Ends it here; the lock is given back by the caller.
  void forget(KeptLease& kept);

  // Forgets one that is over as far as we know. It is not released: it may have been renewed through another daemon.
  void let_go(KeptLease& kept);

  // The engine and the handle in a lease's text. Throws ProblemError.
  struct Named {
    ServedEngine* engine;
    Handle handle;
  };
  Named named_by(const std::string& text) const;

  const Returns& returns() const { return returns_; }

  // At the end of the daemon: the holds go on until their ttl ends, for whoever starts it anew.
  void abandon();
  std::size_t size() const { return kept_.size(); }

 private:
  std::shared_ptr<KeptLease> removed(KeptLease& kept);

  net::io_context& context_;
  const Engines& engines_;
  const Returns returns_;
  std::unordered_map<std::string, std::shared_ptr<KeptLease>> kept_;
};

// {"lease", "engine", "name", "path", "mode", "token", "ttl_ms", "valid_for_ms", "valid_from_send_ms"}
Json to_json(const ServedEngine& engine, const Lease& lease, Duration ttl, const std::string& text,
             BootTime received);

// A lease is given up so long before its end, as lost; one that its client renews, no sooner than the library wants it.
inline constexpr Duration kLeastWarning = std::chrono::milliseconds(1);

// How long it is surely held, by this machine's clock; not more than is left. "valid_for_ms" counts from now, which the
// client cannot know; "valid_from_send_ms" from when its request was here, which was after it was sent. So the client
// adds that to its own clock as it was before it sent the request, and is never late, however long the answer or an
// event of the stream takes to reach it.
void put_validity(Json& object, const Lease& lease, BootTime received);

}  // namespace holdfast::cli::serve
