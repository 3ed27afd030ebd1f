// Holdfast's asynchronous calls with the completion tokens of Asio: use_awaitable, use_future, deferred, callbacks,
// bind_executor, and what else your Asio has. For Boost.Asio see boost_asio.h. Header-only; no other header of
// Holdfast includes an Asio, and the library contains none.
//
//   auto lease = co_await holdfast::initiate(mutex.async_acquire(), asio::use_awaitable);   // Result<Lease>
//   auto lease = co_await mutex.async_acquire();        // the same, since Asio 1.23 (Boost 1.80)
//   auto future = holdfast::initiate(lease->async_release(), asio::use_future);
//   holdfast::initiate(mutex.async_try_acquire_for(5s),
//                      asio::bind_executor(strand, [](holdfast::Result<holdfast::Lease> lease) { … }));
//
// It takes every Async<T> of the library: locks of all kinds, leases, elections, clients and fences. The completion
// signature is void(T), where T is what the blocking call returns, a Result: nothing is thrown, "busy" is no
// error_code.
//
//   executor      The handler is posted to its associated executor, and never runs inside initiate() nor on a thread
//                 of Holdfast's. Without one that is Asio's system executor, whatever the version. The executor
//                 has outstanding work until the handler runs.
//   cancellation  Since Asio 1.19 (Boost 1.77): a signal on the handler's cancellation slot, of any type, ends the wait
//                 of this very call, and leaves nothing behind. The outcome is Code::cancelled, unless another one
//                 came first. So a cancelled coroutine (asio::co_spawn with a slot, operator||, a timeout) takes no
//                 lock. Calls that wait for nobody (release, renew, list …) are not cut short: they end by
//                 ClientOptions::request_timeout. With an older Asio hand in a std::stop_token.
//   allocator     The handler's is used for the posted completion.
//
//   what ends first, while an operation is under way
//   the Client object      nothing changes: the operation keeps the connection until it has ended
//   io_context::stop()     the completion is queued, and runs when the context runs again
//   the io_context itself  as with Asio's own sockets the handler is destroyed, not called, by the context's destructor.
//                          The operation is cancelled; a lock that it gets all the same is released at once
//
// A callback given to Async::then() that blocks delays the completions of its client: they pass the same thread.
//
// Thread safety: initiate() as the Async; a cancellation signal is emitted on the handler's executor, as ever.
#pragma once

#include <asio/associated_allocator.hpp>
#include <asio/associated_executor.hpp>
#include <asio/async_result.hpp>
#include <asio/awaitable.hpp>
#include <asio/execution.hpp>
#include <asio/execution_context.hpp>
#include <asio/executor_work_guard.hpp>
#include <asio/post.hpp>
#include <asio/query.hpp>
#include <asio/system_executor.hpp>
#include <asio/version.hpp>
#if ASIO_VERSION >= 101900
#include <asio/associated_cancellation_slot.hpp>
#endif

#define HOLDFAST_ASIO asio
#define HOLDFAST_ASIO_VERSION ASIO_VERSION
#ifdef ASIO_HAS_CO_AWAIT
#define HOLDFAST_ASIO_CO_AWAIT
#endif
#define HOLDFAST_ASIO_BRIDGE asio_bridge
#include "holdfast/asio_bridge.h"
#undef HOLDFAST_ASIO
#undef HOLDFAST_ASIO_VERSION
#undef HOLDFAST_ASIO_CO_AWAIT
#undef HOLDFAST_ASIO_BRIDGE
