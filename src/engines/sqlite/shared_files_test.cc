#include "engines/sqlite/shared_files.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace holdfast::internal {
namespace {

class SharedFilesTest : public testing::Test {
 protected:
  SharedFilesTest() {
    char pattern[] = "/tmp/holdfast-shared-XXXXXX";
    directory_ = mkdtemp(pattern);
    mask_ = umask(077);
  }
  ~SharedFilesTest() override {
    umask(mask_);
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
  }
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "needs root";
  }

  std::string path(const std::string& name) const { return directory_ + "/" + name; }
  static SharedGroup group() { return SharedGroup::find("nogroup").value(); }
  static struct stat status(const std::string& path) {
    struct stat found{};
    EXPECT_EQ(lstat(path.c_str(), &found), 0) << path;
    return found;
  }
  static std::string error_of(const std::function<void()>& act) {
    try {
      act();
      return "";
    } catch (const std::system_error& error) {
      return error.what();
    }
  }
  void bind_socket(const std::string& name) const {
    const int descriptor = socket(AF_UNIX, SOCK_DGRAM, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path(name).c_str(), sizeof address.sun_path - 1);
    ASSERT_EQ(bind(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    close(descriptor);
  }

  std::string directory_;
  mode_t mask_ = 0;
};

TEST_F(SharedFilesTest, HaveGroupAndModeWhateverTheUmask) {
  make_shared_directory(path("d"), group());
  make_shared_file(path("d/f"), group());
  EXPECT_EQ(status(path("d")).st_mode & 07777, 02770U);
  EXPECT_EQ(status(path("d/f")).st_mode & 07777, 0660U);
  EXPECT_EQ(status(path("d")).st_gid, group().id());
  EXPECT_EQ(status(path("d/f")).st_gid, group().id());
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(path("d")), {}), 1);
}

TEST_F(SharedFilesTest, LeaveWhatIsThereAsItIs) {
  std::ofstream(path("f")) << "content";
  ASSERT_EQ(symlink(path("nowhere").c_str(), path("l").c_str()), 0);
  make_shared_file(path("f"), group());
  make_shared_file(path("l"), group());
  make_shared_directory(path("l"), group());
  EXPECT_EQ(status(path("f")).st_mode & 07777, 0600U);
  EXPECT_EQ(status(path("f")).st_size, 7);
  EXPECT_TRUE(S_ISLNK(status(path("l")).st_mode));
  EXPECT_FALSE(std::filesystem::exists(path("nowhere")));
}

TEST_F(SharedFilesTest, SayWhyNothingCanBeMade) {
  EXPECT_NE(error_of([&] { make_shared_file(path("none/f"), group()); }).find("none/f"),
            std::string::npos);
  EXPECT_NE(error_of([&] { make_shared_directory(path("none/d"), group()); }).find("none/d"),
            std::string::npos);
}

TEST_F(SharedFilesTest, OnlyASocketOfOursIsOpenedToTheGroup) {
  bind_socket("s");
  share_socket(path("s"));
  EXPECT_EQ(status(path("s")).st_mode & 07777, 0660U);

  std::ofstream(path("f")) << "secret";
  ASSERT_EQ(symlink(path("f").c_str(), path("l").c_str()), 0);
  EXPECT_NE(error_of([&] { share_socket(path("l")); }), "");
  EXPECT_NE(error_of([&] { share_socket(path("f")); }), "");
  EXPECT_EQ(status(path("f")).st_mode & 07777, 0600U);

  bind_socket("elsewhere");
  ASSERT_EQ(link(path("elsewhere").c_str(), path("second").c_str()), 0);
  EXPECT_NE(error_of([&] { share_socket(path("second")); }), "");
  bind_socket("others");
  ASSERT_EQ(chown(path("others").c_str(), 65534, 65534), 0);
  EXPECT_NE(error_of([&] { share_socket(path("others")); }), "");
  EXPECT_NE(status(path("elsewhere")).st_mode & 07777, 0660U);
}

TEST_F(SharedFilesTest, AGroupHasRootItsMembersAndNobodyElse) {
  EXPECT_TRUE(group().has(0));
  EXPECT_TRUE(group().has(65534));
  EXPECT_FALSE(group().has(33));
  EXPECT_FALSE(group().has(4'000'000));
  EXPECT_EQ(SharedGroup::find("no-such-group").code(), Code::misconfigured);
}

}  // namespace
}  // namespace holdfast::internal
