#include <memory>
#include <string>
#include <utility>

#include "fence/file_mark.h"
#include "fence/mark_store.h"
#include "fence/sqlite_mark.h"
#include "holdfast/fence.h"

namespace holdfast {

using internal::fence::Mark;
using internal::fence::MarkSession;
using internal::fence::MarkStore;

namespace {

Failure stale(const MarkStore& store, const Ticket& ticket, const Mark& mark) {
  const bool shared = ticket.mode == Mode::shared;
  return {Code::stale_token, "fence " + store.display() + ": " + (shared ? "shared " : "") +
                                 "token " + ticket.token.str() + " is stale, " +
                                 (shared ? "exclusive " : "") + "token " +
                                 outranking(mark, ticket).str() +
                                 " has been here: the lock has a newer holder. Give up what was "
                                 "read under the old token, and acquire the lock again"};
}

Failure moved_from() { return {Code::closed, "this fence gate has been moved away"}; }

}  // namespace

struct FenceGate::Impl {
  std::unique_ptr<MarkStore> store;
};

struct FenceGate::Pass::Impl {
  std::unique_ptr<MarkSession> inside;
};

FenceGate::Pass::Pass(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
FenceGate::Pass::Pass(Pass&&) noexcept = default;
FenceGate::Pass& FenceGate::Pass::operator=(Pass&&) noexcept = default;
FenceGate::Pass::~Pass() = default;

FenceGate::FenceGate(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
FenceGate::FenceGate(FenceGate&&) noexcept = default;
FenceGate& FenceGate::operator=(FenceGate&&) noexcept = default;
FenceGate::~FenceGate() = default;

Result<FenceGate> FenceGate::in_file(const std::filesystem::path& file) {
  auto store = internal::fence::open_file_mark(file);
  if (!store) return store.failure();
  return FenceGate(std::make_unique<Impl>(Impl{std::move(*store)}));
}

Result<FenceGate> FenceGate::in_sqlite(const std::filesystem::path& database,
                                       std::string_view resource) {
  auto store = internal::fence::open_sqlite_mark(database, resource);
  if (!store) return store.failure();
  return FenceGate(std::make_unique<Impl>(Impl{std::move(*store)}));
}

Result<FenceGate::Pass> FenceGate::enter(const Ticket& ticket) {
  if (!impl_) return moved_from();
  if (const auto problem = internal::fence::problem_with(ticket)) return *problem;
  auto inside = impl_->store->enter();
  if (!inside) return inside.failure();
  const auto mark = (*inside)->load();
  if (!mark) return mark.failure();
  const auto raised = admitted(*mark, ticket);
  if (!raised) return stale(*impl_->store, ticket, *mark);
  if (auto stored = (*inside)->store(*raised); !stored) return stored.failure();
  return Pass(std::make_unique<Pass::Impl>(Pass::Impl{std::move(*inside)}));
}

Result<Token> FenceGate::mark() const {
  if (!impl_) return moved_from();
  const auto mark = impl_->store->peek();
  if (!mark) return mark.failure();
  return mark->newest;
}

}  // namespace holdfast
