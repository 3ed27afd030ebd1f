#include <memory>
#include <string>
#include <utility>

#include "fence/file_mark.h"
#include "fence/mark_store.h"
#include "fence/sqlite_mark.h"
#include "holdfast/fence.h"

namespace holdfast {

using internal::fence::MarkSession;
using internal::fence::MarkStore;

namespace {

Failure stale(const MarkStore& store, Token token, Token mark) {
  return {Code::stale_token, "fence " + store.display() + ": token " + token.str() +
                                 " is stale, token " + mark.str() +
                                 " has been here: the lock has a newer holder. Give up what was "
                                 "read under the old token, and acquire the lock again"};
}

Failure no_token() {
  return {Code::invalid_argument,
          "0 is not a fencing token: pass the token of a lease, from an engine that has tokens"};
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

Result<FenceGate::Pass> FenceGate::enter(Token token) {
  if (!impl_) return moved_from();
  // 0 is what a lease without tokens would pass: admitted, it would go unfenced for as long as
  // nobody else shows a real one.
  if (token == Token()) return no_token();
  auto inside = impl_->store->enter();
  if (!inside) return inside.failure();
  auto mark = (*inside)->load();
  if (!mark) return mark.failure();
  if (token < *mark) return stale(*impl_->store, token, *mark);
  if (auto stored = (*inside)->store(token); !stored) return stored.failure();
  return Pass(std::make_unique<Pass::Impl>(Pass::Impl{std::move(*inside)}));
}

Result<Token> FenceGate::mark() const {
  if (!impl_) return moved_from();
  return impl_->store->peek();
}

}  // namespace holdfast
