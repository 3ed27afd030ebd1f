// boost_asio.h, in the same program as asio.h.
#include "holdfast/boost_asio.h"

#include <boost/asio.hpp>
#ifdef BOOST_ASIO_HAS_CO_AWAIT  // not with every compiler
#define HAS_CO_AWAIT
#if __has_include(<boost/asio/experimental/awaitable_operators.hpp>)
#include <boost/asio/experimental/awaitable_operators.hpp>
#define HAS_AWAITABLE_OPERATORS
#endif
#endif
#if __has_include(<boost/asio/deferred.hpp>)
#include <boost/asio/deferred.hpp>
#define HAS_DEFERRED
#endif

#define NET boost::asio
#define NET_VERSION BOOST_ASIO_VERSION
#define SUITE(name) BoostAsio##name
#define BRIDGE boost_asio_bridge
#include "completion_cases.h"
#include "ending_cases.h"
#include "operation_cases.h"
