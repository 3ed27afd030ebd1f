// asio.h with the Asio that does without Boost.
#include "holdfast/asio.h"

#include <asio.hpp>
#ifdef ASIO_HAS_CO_AWAIT  // not with every compiler
#define HAS_CO_AWAIT
#if __has_include(<asio/experimental/awaitable_operators.hpp>)
#include <asio/experimental/awaitable_operators.hpp>
#define HAS_AWAITABLE_OPERATORS
#endif
#endif
#if __has_include(<asio/deferred.hpp>)
#include <asio/deferred.hpp>
#define HAS_DEFERRED
#endif

#define NET asio
#define NET_VERSION ASIO_VERSION
#define SUITE(name) Asio##name
#define BRIDGE asio_bridge
#include "completion_cases.h"
#include "ending_cases.h"
#include "operation_cases.h"
