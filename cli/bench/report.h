// The result of a benchmark, for people and as JSON.
#pragma once

#include "board.h"
#include "session.h"
#include "workers.h"

namespace holdfast::cli {

// One line that replaces itself, on standard error.
void print_progress(Board& board, Duration since_begin, Duration run_for);

void print_report(const Session& session, const BenchPlan& plan, Board& board, Duration took);

}  // namespace holdfast::cli
