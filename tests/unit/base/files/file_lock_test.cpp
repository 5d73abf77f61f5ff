#include "base/files/file_lock.hpp"

#include "base/files/files.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <optional>

namespace osora {
namespace {

namespace fs = std::filesystem;

class Lock : public testing::Test {
protected:
    void SetUp() override {
        std::string pattern = (fs::temp_directory_path() / "osora-lock-XXXXXX").string();
        folder_ = mkdtemp(pattern.data());
        path_ = folder_ / "a lock";
    }
    void TearDown() override { fs::remove_all(folder_); }
    fs::path folder_, path_;
};

TEST_F(Lock, HasOneHolder) {
    EXPECT_FALSE(FileLock::is_held(path_));
    auto first = FileLock::acquire(path_);
    ASSERT_TRUE(first.has_value()) << first.error().message;
    EXPECT_TRUE(FileLock::is_held(path_));
    auto const second = FileLock::acquire(path_, std::chrono::milliseconds(30));
    ASSERT_TRUE(second.has_error());
    EXPECT_EQ(second.error().code, Errc::busy);
    { FileLock const gone = std::move(*first); }
    EXPECT_FALSE(FileLock::is_held(path_));
    EXPECT_TRUE(FileLock::acquire(path_).has_value());
}

TEST_F(Lock, EndsWithItsProcess) {
    int ready[2];
    ASSERT_EQ(pipe(ready), 0);
    pid_t const child = fork();
    if (child == 0) {
        auto const lock = FileLock::acquire(path_);
        char const ok = lock.has_value() ? 'y' : 'n';
        if (write(ready[1], &ok, 1) == 1) pause();
        _exit(1);
    }
    char got = 0;
    ASSERT_EQ(read(ready[0], &got, 1), 1);
    EXPECT_EQ(got, 'y');
    EXPECT_TRUE(FileLock::is_held(path_));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    EXPECT_FALSE(FileLock::is_held(path_));
    close(ready[0]);
    close(ready[1]);
}

TEST_F(Lock, SaysWhyItCannotBeTaken) {
    auto const lock = FileLock::acquire(folder_ / "none" / "lock");
    ASSERT_TRUE(lock.has_error());
    EXPECT_EQ(lock.error().code, Errc::not_found);
}

}  // namespace
}  // namespace osora
