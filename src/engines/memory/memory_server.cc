#include "engines/memory/memory_server.h"

#include <atomic>

namespace holdfast::internal {

namespace {

// Never removed, so that it can be read without a lock: a forked child may have been made while another thread of the
// parent held one.
struct NamedServer {
  std::string name;
  std::shared_ptr<MemoryServer> server;
  const NamedServer* next = nullptr;
};
std::atomic<const NamedServer*> named_servers{nullptr};

const NamedServer* find(const NamedServer* first, const std::string& name) {
  while (first && first->name != name) first = first->next;
  return first;
}

}  // namespace

Result<std::shared_ptr<MemoryServer>> MemoryServer::named(const std::string& name) {
  const NamedServer* first = named_servers.load(std::memory_order_acquire);
  std::unique_ptr<NamedServer> fresh;
  for (;;) {
    if (const NamedServer* const known = find(first, name)) {
      if (!known->server->fork_watch_.forked()) return known->server;
      return Failure(Code::forked, "the parent process had the locks in memory:" + name +
                                       ", and memory is not shared after fork(); use another name, "
                                       "or an engine that processes share, such as sqlite:");
    }
    if (!fresh) fresh.reset(new NamedServer{name, std::make_shared<MemoryServer>(), nullptr});
    fresh->next = first;
    if (named_servers.compare_exchange_weak(first, fresh.get(), std::memory_order_acq_rel)) {
      return fresh.release()->server;
    }
  }
}

MemoryServer::ClientNumber MemoryServer::enter(Inbox& inbox) {
  const CheckedLock lock(mutex_);
  const ClientNumber number = locks_.enter();
  clients_[number].inbox = &inbox;
  return number;
}

void MemoryServer::leave(ClientNumber client) {
  const CheckedLock lock(mutex_);
  locks_.leave(client);
  clients_.erase(client);
}

void MemoryServer::watch(ClientNumber client, const Name& name) {
  const CheckedLock lock(mutex_);
  clients_.at(client).watched.insert(name);
}

void MemoryServer::unwatch(ClientNumber client, const Name& name) {
  const CheckedLock lock(mutex_);
  std::multiset<Name>& watched = clients_.at(client).watched;
  watched.erase(watched.find(name));
}

// ---- News --------------------------------------------------------------------------------------

MemoryServer::Inbox* MemoryServer::inbox_of(ClientNumber client) {
  const auto found = clients_.find(client);
  return found == clients_.end() ? nullptr : found->second.inbox;
}

void MemoryServer::tell(const std::vector<table::Wake>& wakes, const Name* changed) {
  for (const table::Wake& wake : wakes) {
    if (Inbox* const inbox = inbox_of(wake.process)) inbox->on_turn(wake.claim);
  }
  if (!changed) return;
  for (const auto& [number, client] : clients_) {
    if (client.watched.contains(*changed)) client.inbox->on_change(*changed);
  }
}

// ---- Faults ------------------------------------------------------------------------------------

Failure MemoryServer::is_down() {
  return Failure(Code::unreachable, "the server in memory is down, as the test ordered");
}

Failure MemoryServer::no_answer() {
  return Failure(Code::unknown, "the server in memory did not answer, as the test ordered");
}

bool MemoryServer::take(std::map<MemoryRequest, int>& lost, MemoryRequest kind) {
  if (lost.empty()) return false;
  const auto found = lost.find(kind);
  if (found == lost.end()) return false;
  if (--found->second == 0) lost.erase(found);
  return true;
}

void MemoryServer::set_down(bool down) {
  const CheckedLock lock(mutex_);
  if (std::exchange(down_, down) && !down) tell(locks_.waiters(), nullptr);
}

void MemoryServer::lose_request(MemoryRequest kind) {
  const CheckedLock lock(mutex_);
  ++lost_requests_[kind];
}

void MemoryServer::lose_reply(MemoryRequest kind) {
  const CheckedLock lock(mutex_);
  ++lost_replies_[kind];
}

bool MemoryServer::take_away(const Name& name, std::optional<Token> token, BootTime now) {
  const CheckedLock lock(mutex_);
  bool any = false;
  for (const HolderInfo& holder : locks_.inspect(name, now).holders) {
    if (token && holder.token != *token) continue;
    const std::optional<ClientNumber> client = locks_.client_of(name, holder.id);
    any = locks_.evict(name, holder.token, now) || any;
    tell(locks_.take_wakes(), &name);
    Inbox* const inbox = client ? inbox_of(*client) : nullptr;
    if (inbox) inbox->on_ended(holder.id);
  }
  return any;
}

}  // namespace holdfast::internal
