// Readers and writers at a fence of sql.h in a database, and programs of an earlier version beside them.
#pragma once

#include <functional>
#include <random>

#include "fence/lock_history_testing.h"
#include "holdfast/sql.h"
#include "lock_testing.h"

namespace holdfast::lock_testing {

inline Ticket reader(std::uint64_t token) { return {Token(token), Mode::shared}; }
inline Ticket writer(std::uint64_t token) { return {Token(token), Mode::exclusive}; }

// Each in a transaction of its own, which is committed also after a refusal.
using Enter = std::function<bool(const Ticket&)>;
using OldEnter = std::function<bool(Token)>;  // by the statements of earlier versions

inline void expect_fence_of_any_history(const Enter& enter) {
  fence_testing::expect_fence_of(std::random_device()(), 400, enter);
}

inline void expect_fence_beside_an_earlier_version(const Enter& enter, const OldEnter& old_enter) {
  fence_testing::expect_fence_of_two_versions(std::random_device()(), 400, enter, old_enter);
}

inline void expect_a_mark_of_one_number_to_count_as_both(const Enter& enter,
                                                         const OldEnter& old_enter) {
  EXPECT_TRUE(old_enter(Token(33)));
  EXPECT_FALSE(enter(reader(32)));
  EXPECT_TRUE(enter(reader(35)));
  EXPECT_TRUE(enter(reader(34)));
  EXPECT_FALSE(enter(reader(32)));
  EXPECT_FALSE(old_enter(Token(34)));
  EXPECT_TRUE(old_enter(Token(40)));
  EXPECT_FALSE(enter(reader(39)));
}

inline void expect_an_upgraded_token_to_shut_late_readers_out(const Enter& enter) {
  EXPECT_TRUE(enter(writer(3)));
  EXPECT_TRUE(enter(reader(5)));
  EXPECT_TRUE(enter(reader(7)));
  EXPECT_TRUE(enter(writer(7)));
  EXPECT_FALSE(enter(reader(5)));
}

// The table of writers' marks has been dropped.
inline void expect_the_missing_table_to_be_named(const Enter& enter) {
  try {
    enter(writer(5));
    ADD_FAILURE() << "admitted without its table";
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), HasSubstr("holdfast_fence_writer"));
  }
}

}  // namespace holdfast::lock_testing
