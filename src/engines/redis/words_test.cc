#include "engines/redis/words.h"

#include <gtest/gtest.h>

namespace holdfast::internal::redis {
namespace {

TEST(Words, GoToTheServerWithTheirLengths) {
  Words words{"SET", "", std::string_view("a\0\r\n", 4)};
  words.add(-12).join({"{", "name", "}:q"});
  EXPECT_EQ(words.count(), 5U);
  using namespace std::string_literals;
  EXPECT_EQ(encode(words),
            "*5\r\n$3\r\nSET\r\n$0\r\n\r\n$4\r\na\0\r\n\r\n$3\r\n-12\r\n$8\r\n{name}:q\r\n"s);
}

TEST(Words, AreFoundAgain) {
  const std::string longer(1000, '$');
  Words words{"a", longer};
  words.add("").add("c");
  EXPECT_EQ(words.at(0), "a");
  EXPECT_EQ(words.at(1), longer);
  EXPECT_EQ(words.at(2), "");
  EXPECT_EQ(words.at(3), "c");
}

TEST(Words, AreRepeatedWithAnotherEnd) {
  Words words;
  words.add(std::string(300, 'a')).repeat('b').repeat('c').add("d").repeat('e');
  EXPECT_EQ(words.count(), 5U);
  EXPECT_EQ(words.at(1), std::string(299, 'a') + "b");
  EXPECT_EQ(words.at(2), std::string(299, 'a') + "c");
  EXPECT_EQ(words.at(3), "d");
  EXPECT_EQ(words.at(4), "e");
}

TEST(Words, TheFirstOfThem) {
  const Words words{"a", "bc", "d"};
  EXPECT_EQ(words.first(0), "");
  EXPECT_EQ(words.first(2), "$1\r\na\r\n$2\r\nbc\r\n");
  EXPECT_EQ(words.first(3), words.bytes());
  EXPECT_EQ(words.first(9), words.bytes());
}

}  // namespace
}  // namespace holdfast::internal::redis
