#include "engines/etcd/keys.h"

#include <gtest/gtest.h>

namespace holdfast::internal::etcd {
namespace {

TEST(EtcdKeysTest, ARecordIsInNoLocksQueueAndIsNoLock) {
  const std::string prefix = "/locks/";
  const std::vector<Name> names{"a",  "a/b", "a~record", "a~record/b", "~record", "%2F",
                                "a/", "/",   "a~",       "\xff",       "%"};
  for (const Name& name : names) {
    const std::string key = record_key(prefix, name);
    EXPECT_EQ(name_of_record(prefix, key), name) << key;
    EXPECT_EQ(name_of(prefix, key), std::nullopt) << key;
    for (const Name& lock : names) {
      const Keys keys(prefix, lock);
      EXPECT_FALSE(keys.base <= key && key < keys.end)
          << key << " is in the queue of " << keys.base;
      EXPECT_EQ(name_of_record(prefix, keys.of(Claim{.name = lock})), std::nullopt);
    }
  }
}

TEST(EtcdKeysTest, AKeyOfAnotherProgramIsNoRecord) {
  for (const char* key : {"/locks/~record", "/locks/a~recor", "/other/a~record",
                          "/locks/a/b~record", "/locks/a%2fb~record", "~record", ""}) {
    EXPECT_EQ(name_of_record("/locks/", key), std::nullopt) << key;
  }
}

}  // namespace
}  // namespace holdfast::internal::etcd
