#include "engines/table/row_moves.h"

#include <gtest/gtest.h>

namespace holdfast::internal::table {
namespace {

TEST(RowMoves, ARowThatChangesItsPageMovesForAWhile) {
  RowMoves moves;
  const BootTime now{};
  moves.seen("x", "(0,1)", now);
  moves.seen("x", "(0,2)", now);
  EXPECT_FALSE(moves.moving("x", now));
  moves.seen("x", "(1,1)", now);
  EXPECT_TRUE(moves.moving("x", now));
  EXPECT_FALSE(moves.moving("y", now));
  EXPECT_FALSE(moves.moving("x", now + std::chrono::minutes(1)));
}

TEST(RowMoves, ManyNamesAreForgotten) {
  RowMoves moves;
  const BootTime now{};
  for (int i = 0; i < 5000; ++i) moves.seen(std::to_string(i), "(0,1)", now);
  moves.seen("0", "(1,1)", now);
  EXPECT_FALSE(moves.moving("0", now));
}

}  // namespace
}  // namespace holdfast::internal::table
