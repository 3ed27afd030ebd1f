// The bridge from Async to an Asio. Not to be included as it is: asio.h and boost_asio.h do, which document it, each
// with the namespace of its Asio and one of its own, so that both can be in one program.
//
//   initiate ─► Operation ── in the books of the executor's context ──► completes: posted ─► handler
//                   │                                             └───► context is destroyed: handler destroyed
//                   └─► the client's loop ─► its callback thread ─► complete()
//
// How it can go wrong: a context is destroyed while an operation of ours is under way elsewhere, or in the very moment
// in which it completes. A socket is told by its service; so is an operation, by Books, which a service of ours keeps.
#ifndef HOLDFAST_ASIO
#error "include holdfast/asio.h or holdfast/boost_asio.h"
#endif

#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <utility>

#include "holdfast/async.h"

namespace holdfast {
namespace HOLDFAST_ASIO_BRIDGE {

namespace net = ::HOLDFAST_ASIO;

class Pending : public std::enable_shared_from_this<Pending> {
 public:
  virtual ~Pending() = default;
  // The context is being destroyed: destroys the handler.
  virtual void abandon() noexcept = 0;
};

// The operations under way whose handlers belong to one context. Thread safe.
class Books {
 public:
  // False if the context is being destroyed.
  bool enter(std::shared_ptr<Pending> operation) {
    const std::lock_guard lock(mutex_);
    return !closed_ && pending_.insert(std::move(operation)).second;
  }
  // True: the caller may use the context until it calls left(). False: the operation was abandoned.
  bool leave(const std::shared_ptr<Pending>& operation) {
    const std::lock_guard lock(mutex_);
    if (pending_.erase(operation) == 0) return false;
    ++leaving_;
    return true;
  }
  void left() {
    const std::lock_guard lock(mutex_);
    if (--leaving_ == 0) none_leaving_.notify_all();
  }
  void close() {
    std::set<std::shared_ptr<Pending>> abandoned;
    {
      std::unique_lock lock(mutex_);
      closed_ = true;
      abandoned.swap(pending_);
      none_leaving_.wait(lock, [&] { return leaving_ == 0; });
    }
    for (const auto& operation : abandoned) operation->abandon();
  }

 private:
  std::mutex mutex_;
  std::condition_variable none_leaving_;
  std::set<std::shared_ptr<Pending>> pending_;
  std::size_t leaving_ = 0;
  bool closed_ = false;
};

class BookKeeper final : public net::execution_context::service {
 public:
  using key_type = BookKeeper;
  inline static net::execution_context::id id;
  explicit BookKeeper(net::execution_context& context)
      : net::execution_context::service(context), books(std::make_shared<Books>()) {}

  const std::shared_ptr<Books> books;  // operations that end later use it once more

 private:
  void shutdown() override { books->close(); }
};

// Null: an executor that tells no context. It must outlive its operations.
template <class Executor>
std::shared_ptr<Books> books_of(const Executor& executor) {
  if constexpr (net::can_query<const Executor&, net::execution::context_t>::value) {
    net::execution_context& context = net::query(executor, net::execution::context);
    return net::use_service<BookKeeper>(context).books;
  } else if constexpr (requires { executor.context(); }) {
    return net::use_service<BookKeeper>(executor.context()).books;
  } else {
    return nullptr;
  }
}

#if HOLDFAST_ASIO_VERSION >= 101900
template <class Handler>
void clear_slot(const Handler& handler) {
  auto slot = net::get_associated_cancellation_slot(handler);
  if (slot.is_connected()) slot.clear();
}
template <class Handler>
void fill_slot(const Handler& handler, std::stop_source stop) {
  auto slot = net::get_associated_cancellation_slot(handler);
  if (!slot.is_connected() || !stop.stop_possible()) return;
  slot.assign([stop = std::move(stop)](net::cancellation_type) mutable { stop.request_stop(); });
}
#else
template <class Handler>
void clear_slot(const Handler&) {}
template <class Handler>
void fill_slot(const Handler&, const std::stop_source&) {}
#endif

// The posted completion: on the handler's executor, where its cancellation slot may be touched.
template <class T, class Handler>
struct Completion {
  using allocator_type = typename net::associated_allocator<Handler>::type;
  allocator_type get_allocator() const noexcept { return net::get_associated_allocator(handler); }

  void operator()() {
    clear_slot(handler);
    std::move(handler)(std::move(value));
  }

  Handler handler;
  T value;
};

template <class T, class Handler>
class Operation final : public Pending {
 public:
  Operation(Handler handler, std::stop_source stop)
      : handler_(std::move(handler)),
        work_(net::get_associated_executor(*handler_, net::system_executor())),
        stop_(std::move(stop)),
        books_(books_of(work_->get_executor())) {}

  static void begin(Handler handler, Async<T> async) {
    const auto self = std::make_shared<Operation>(std::move(handler), async.stop());
    if (self->books_ && !self->books_->enter(self)) return self->abandon();
    fill_slot(*self->handler_, self->stop_);
    try {
      std::move(async).then([self](T value) { self->complete(std::move(value)); });
    } catch (const LockError& error) {  // It could not be begun.
      self->complete(error.failure());
    }
  }

  void abandon() noexcept override {
    stop_.request_stop();
    handler_.reset();
    work_.reset();
  }

 private:
  void complete(T value) {
    if (books_ && !books_->leave(this->shared_from_this())) return;
    const auto executor = work_->get_executor();
    net::post(executor, Completion<T, Handler>{std::move(*handler_), std::move(value)});
    handler_.reset();
    work_.reset();
    if (books_) books_->left();
  }

  std::optional<Handler> handler_;
  // (By itself a new Asio would run the handler of one who names no executor on our thread.)
  using Executor = typename net::associated_executor<Handler, net::system_executor>::type;
  std::optional<net::executor_work_guard<Executor>> work_;
  std::stop_source stop_;
  std::shared_ptr<Books> books_;
};

struct Initiation {
  template <class Handler, class T>
  void operator()(Handler&& handler, Async<T> async) const {
    Operation<T, std::decay_t<Handler>>::begin(std::forward<Handler>(handler), std::move(async));
  }
};

// Begins `async`, and completes as `token` says. See asio.h.
template <class T, class Token>
auto initiate(Async<T> async, Token&& token) {
  return net::async_initiate<Token, void(T)>(Initiation(), token, std::move(async));
}

#if HOLDFAST_ASIO_VERSION >= 102300 && defined(HOLDFAST_ASIO_CO_AWAIT)
// An asio::awaitable awaits an Async by itself: what refuses that with an older Asio is not to be chosen.
template <class T, class Executor>
void initiate(Async<T>, net::detail::awaitable_frame_base<Executor>*);
#endif

}  // namespace HOLDFAST_ASIO_BRIDGE

using HOLDFAST_ASIO_BRIDGE::initiate;

}  // namespace holdfast
