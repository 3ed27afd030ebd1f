// Tap: hears what this daemon's own clients do, and writes it into the history.
#pragma once

#include <boost/asio/io_context.hpp>
#include <memory>
#include <string>

#include "serve/history.h"

namespace holdfast::cli::serve {

// Called inside the client's loop; the history is told on the daemon's own thread. Both must outlive the client.
std::shared_ptr<Observer> make_tap(net::io_context& context, History& history, std::string engine);

}  // namespace holdfast::cli::serve
