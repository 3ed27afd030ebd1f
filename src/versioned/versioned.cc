#include "holdfast/versioned.h"

#include <algorithm>

#include "base/real_runtime.h"
#include "base/text.h"
#include "base/unreachable_instead_of_unknown.h"
#include "base/url.h"
#include "versioned/store.h"

namespace holdfast {

using internal::RealRuntime;
using internal::run_blocking;
using internal::SqlRows;
using internal::SqlStatement;
using internal::Url;
using internal::VersionedStore;

struct Versioned::Impl {
  static void destroy(Impl* impl);
  Deadline deadline() const { return Deadline::at(runtime.now() + request_timeout); }
  Task<Result<std::optional<Row>>> read(std::string key);
  // Of a row with this version; nothing: a new one.
  Task<Result<Written>> change(std::string key, std::optional<std::uint64_t> version,
                               std::vector<Value> values);
  Task<Result<Row>> update(std::string key, const std::function<void(std::vector<Value>&)>& change,
                           RetryOptions retry);
  Task<void> stop();

  std::optional<Failure> problem_with(const std::vector<Value>& values) const {
    if (values.size() == columns) return std::nullopt;
    return Failure(Code::invalid_argument, "there are " + std::to_string(values.size()) +
                                               " values for " + std::to_string(columns) +
                                               " columns");
  }

  RealRuntime runtime;
  Duration request_timeout{};
  std::size_t columns = 0;
  std::unique_ptr<VersionedStore> store;
};

// Ends as a client's core does: see client/client.cc.
void Versioned::Impl::destroy(Impl* impl) {
  if (impl->runtime.forked()) return;
  const auto end = [impl] {
    impl->runtime.finish_with(impl->stop());
    delete impl;
  };
  if (impl->runtime.inside() || impl->runtime.on_own_thread()) {
    RealRuntime::run_elsewhere(end);
  } else {
    end();
  }
}

Task<void> Versioned::Impl::stop() {
  store.reset();
  co_return;
}

Task<Result<std::optional<Versioned::Row>>> Versioned::Impl::read(std::string key) {
  const Result<SqlRows> rows = co_await store->run(store->reading(key), deadline());
  if (!rows) co_return internal::unreachable_instead_of_unknown(rows.failure());
  if (rows->empty()) co_return std::optional<Row>();
  Row row;
  row.version = static_cast<std::uint64_t>(rows->number(0, 0));
  row.values.assign(rows->rows[0].begin() + 1, rows->rows[0].end());
  co_return std::optional<Row>(std::move(row));
}

Task<Result<Versioned::Written>> Versioned::Impl::change(std::string key,
                                                         std::optional<std::uint64_t> version,
                                                         std::vector<Value> values) {
  const Deadline limit = deadline();
  const Result<void> fits = co_await store->check(key, values, limit);
  if (!fits) co_return fits.failure();
  SqlStatement statement =
      version ? store->writing(key, *version, values) : store->inserting(key, values);
  const Result<SqlRows> rows = co_await store->run(std::move(statement), limit);
  if (!rows) co_return rows.failure();
  Written written;
  written.conflict = rows->affected == 0;
  if (!written.conflict) written.version = version.value_or(0) + 1;
  co_return written;
}

Task<Result<Versioned::Row>> Versioned::Impl::update(
    std::string key, const std::function<void(std::vector<Value>&)>& change_values,
    RetryOptions retry) {
  Duration pause = retry.first_pause;
  for (int attempt = 0; attempt < std::max(retry.attempts, 1); ++attempt) {
    if (attempt > 0) {
      co_await sleep_until(runtime, runtime.now() + runtime.jitter(pause, 0.5));
      pause = std::min(pause * 2, retry.longest_pause);
    }
    const Result<std::optional<Row>> found = co_await read(key);
    if (!found) co_return found.failure();
    if (!*found) co_return Failure(Code::not_held, "there is no row '" + printable(key, 100) + "'");
    Row row = **found;
    change_values(row.values);
    if (const auto problem = problem_with(row.values)) co_return *problem;
    const Result<Written> written = co_await change(key, row.version, row.values);
    if (!written) co_return written.failure();
    if (written->conflict) continue;
    row.version = written->version;
    co_return row;
  }
  co_return Failure::busy(Busy{.holder = "others, who changed the row each time"});
}

// ---- The blocking calls ------------------------------------------------------------------------

Result<Versioned> Versioned::open(std::string_view url, VersionedTable table,
                                  ClientOptions options) try {
  const Result<Url> parsed = Url::parse(url);
  if (!parsed) return parsed.failure();
  if (table.table.empty() || table.key.empty() || table.version.empty() || table.columns.empty()) {
    return Failure(Code::invalid_argument,
                   "a versioned table needs its name, key, version and at least one column");
  }
  auto impl = std::make_unique<Impl>();
  impl->request_timeout = options.request_timeout;
  impl->columns = table.columns.size();
  {
    const RealRuntime::Inside inside(impl->runtime);
    Result<std::unique_ptr<VersionedStore>> store =
        internal::open_versioned_store(*parsed, table, impl->runtime, options);
    if (!store) return store.failure();
    impl->store = std::move(store).value();
  }
  return Versioned(std::shared_ptr<Impl>(impl.release(), &Impl::destroy));
} catch (const std::exception&) {  // No descriptor left, no memory.
  return internal::current_failure();
}

Versioned::Versioned(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
Versioned::Versioned(Versioned&&) noexcept = default;
Versioned& Versioned::operator=(Versioned&&) noexcept = default;
Versioned::~Versioned() = default;

Result<std::optional<Versioned::Row>> Versioned::read(std::string_view key) {
  if (!impl_) return Failure(Code::closed, "this object was moved from");
  return run_blocking(impl_->runtime, impl_->read(std::string(key)));
}

Result<Versioned::Written> Versioned::write(std::string_view key, std::uint64_t version,
                                            const std::vector<Value>& values) {
  if (!impl_) return Failure(Code::closed, "this object was moved from");
  if (const auto problem = impl_->problem_with(values)) return *problem;
  return run_blocking(impl_->runtime, impl_->change(std::string(key), version, values));
}

Result<Versioned::Written> Versioned::insert(std::string_view key,
                                             const std::vector<Value>& values) {
  if (!impl_) return Failure(Code::closed, "this object was moved from");
  if (const auto problem = impl_->problem_with(values)) return *problem;
  return run_blocking(impl_->runtime, impl_->change(std::string(key), std::nullopt, values));
}

Result<Versioned::Row> Versioned::update(std::string_view key,
                                         const std::function<void(std::vector<Value>&)>& change,
                                         const RetryOptions& retry) {
  if (!impl_) return Failure(Code::closed, "this object was moved from");
  return run_blocking(impl_->runtime, impl_->update(std::string(key), change, retry));
}

}  // namespace holdfast
