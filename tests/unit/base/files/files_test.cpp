#include "base/files/files.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

namespace osora {
namespace {

namespace fs = std::filesystem;

class Files : public testing::Test {
protected:
    void SetUp() override {
        std::string pattern = (fs::temp_directory_path() / "osora-files-XXXXXX").string();
        folder_ = mkdtemp(pattern.data());
    }
    void TearDown() override { fs::remove_all(folder_); }
    fs::path folder_;
};

TEST_F(Files, WritesAndReadsBack) {
    fs::path const path = folder_ / "a 'quoted\" name";
    ASSERT_TRUE(write_file_atomic(path, "one").has_value());
    ASSERT_TRUE(write_file_atomic(path, "two", 0600).has_value());
    EXPECT_EQ(*read_file(path), "two");
    EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_read | fs::perms::owner_write);
    EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1);
}

TEST_F(Files, NamesThePathAndTheReason) {
    auto const missing = read_file(folder_ / "none");
    EXPECT_EQ(missing.error().code, Errc::not_found);
    EXPECT_EQ(missing.error().message,
              (folder_ / "none").string() + ": open: No such file or directory");
    EXPECT_EQ(read_file(folder_).error().code, Errc::invalid_input);
}

TEST_F(Files, RefusesMoreThanTheLimit) {
    std::ofstream(folder_ / "big") << std::string(100, 'x');
    EXPECT_EQ(read_file(folder_ / "big", 99).error().code, Errc::invalid_input);
    EXPECT_TRUE(read_file(folder_ / "big", 100).has_value());
}

// A file size limit stands in for a full disk: the write fails half way.
TEST_F(Files, AFailedWriteLeavesTheOldContent) {
    fs::path const path = folder_ / "kept";
    ASSERT_TRUE(write_file_atomic(path, "old").has_value());
    pid_t const child = fork();
    if (child == 0) {
        signal(SIGXFSZ, SIG_IGN);
        rlimit const limit{1000, 1000};
        setrlimit(RLIMIT_FSIZE, &limit);
        auto const wrote = write_file_atomic(path, std::string(5000, 'n'));
        _exit(wrote.has_error() && wrote.error().code == Errc::out_of_space ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(*read_file(path), "old");
    EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1);
}

TEST_F(Files, KnowsLocalFileSystems) {
    EXPECT_FALSE(*is_network_file_system(folder_));
    EXPECT_EQ(*file_system_type("/dev/shm"), "tmpfs");
    EXPECT_GT(*free_bytes(folder_), 0);
}

}  // namespace
}  // namespace osora
