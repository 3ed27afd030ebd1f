// As asio.h, for Boost.Asio. A program may use both. A file that includes both headers, where the two Asios allow that
// (Asio 1.22 and Boost 1.74 do not), says which one it means where the token does not:
// holdfast::asio_bridge::initiate() or holdfast::boost_asio_bridge::initiate().
#pragma once

#include <utility>  // Boost 1.74 needs it, and does not include it.

#include <boost/asio/associated_allocator.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/execution.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/query.hpp>
#include <boost/asio/system_executor.hpp>
#include <boost/asio/version.hpp>
#if BOOST_ASIO_VERSION >= 101900
#include <boost/asio/associated_cancellation_slot.hpp>
#endif

#define HOLDFAST_ASIO boost::asio
#define HOLDFAST_ASIO_VERSION BOOST_ASIO_VERSION
#ifdef BOOST_ASIO_HAS_CO_AWAIT
#define HOLDFAST_ASIO_CO_AWAIT
#endif
#define HOLDFAST_ASIO_BRIDGE boost_asio_bridge
#include "holdfast/asio_bridge.h"
#undef HOLDFAST_ASIO
#undef HOLDFAST_ASIO_VERSION
#undef HOLDFAST_ASIO_CO_AWAIT
#undef HOLDFAST_ASIO_BRIDGE
