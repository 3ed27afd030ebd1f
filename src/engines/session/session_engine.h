// SessionEngine: locks that live as long as a session of a database server: named locks, advisory
// locks, locked rows. A connection for each hold and each wait.
//
//   taking     one trip where the lock is free; else the wait blocks in the server
//   keeping    renew() asks each session whether it still has its lock; the server ends a session
//              that says nothing for a ttl, so that a frozen holder loses it
//   losing     a session that ends is in doubt at once, and with it the lease (Engine::doubt)
//   leaving    a wait that is given up is interrupted in the server, or its session is ended
#pragma once

#include <memory>

#include "base/known_server.h"
#include "engines/session/recipe.h"
#include "holdfast/engine.h"

namespace holdfast::internal::session {

struct Limits {
  Duration request_timeout{};
  std::size_t connections = 0;
  std::size_t idle_connections = 0;
};

// `examiner` is the one that looks at the connections of the recipe.
std::unique_ptr<Engine> make_session_engine(Runtime& runtime, std::unique_ptr<Recipe> recipe,
                                            const Limits& limits,
                                            std::shared_ptr<ServerExaminer> examiner);

}  // namespace holdfast::internal::session
