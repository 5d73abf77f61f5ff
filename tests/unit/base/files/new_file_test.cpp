#include "base/files/files.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <set>

namespace osora {
namespace {

namespace fs = std::filesystem;

class NewFileTest : public testing::Test {
protected:
    void SetUp() override {
        std::string pattern = (fs::temp_directory_path() / "osora-new-XXXXXX").string();
        folder_ = mkdtemp(pattern.data());
    }
    void TearDown() override { fs::remove_all(folder_); }

    [[nodiscard]] int files() const {
        return static_cast<int>(std::distance(fs::directory_iterator(folder_), {}));
    }
    fs::path folder_;
};

int mode_of(fs::path const& path) {
    struct stat facts {};
    EXPECT_EQ(::lstat(path.c_str(), &facts), 0) << path;
    return static_cast<int>(facts.st_mode & 07777);
}

// Whoever writes a report to /dev/null as root must not replace it for all programs.
TEST_F(NewFileTest, DevicesPipesAndStreamsAreNotReplaced) {
    ASSERT_EQ(::mkfifo((folder_ / "pipe").c_str(), 0600), 0);
    for (fs::path const& target : {folder_ / "pipe", fs::path("/dev/full"), fs::path("/dev/stdout"),
                                   fs::path("/dev/fd/1")}) {
        auto const made = NewFile::create(target);
        ASSERT_TRUE(made.has_error()) << target;
        EXPECT_EQ(made.error().code, Errc::invalid_input);
        EXPECT_THAT(made.error().message, testing::HasSubstr(target.string() + ": write: not a "));
    }
    EXPECT_TRUE(fs::is_fifo(folder_ / "pipe"));
    EXPECT_TRUE(fs::is_character_file("/dev/full"));
    EXPECT_EQ(files(), 1);
}

TEST_F(NewFileTest, TextGoesToDevicesAndStreams) {
    EXPECT_TRUE(write_file_atomic("/dev/null", "text").has_value());
    EXPECT_TRUE(fs::is_character_file("/dev/null"));
    EXPECT_EQ(write_file_atomic("/dev/full", "text").error().code, Errc::out_of_space);
    Descriptor const file(
        ::open((folder_ / "file").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, kPrivate));
    auto const stream = "/dev/fd/" + std::to_string(file.get());
    ASSERT_TRUE(write_file_atomic(stream, "text").has_value());
    EXPECT_EQ(read_file(folder_ / "file").value(), "text");
}

TEST_F(NewFileTest, NamesAreNeverTheSame) {
    std::set<std::string> names;
    for (int i = 0; i < 100; ++i) {
        auto const file = NewFile::create(folder_ / "a");
        ASSERT_TRUE(file.has_value());
        EXPECT_EQ(file->temporary().parent_path(), folder_);
        EXPECT_EQ(file->temporary().extension(), ".tmp");
        names.insert(file->temporary().string());
    }
    EXPECT_EQ(names.size(), 100u);
    EXPECT_EQ(files(), 0) << "what got no name is gone";
}

// The names that an earlier version would have used: with the number of this process.
TEST_F(NewFileTest, PlantedNamesAndLinksDecideNothing) {
    std::ofstream(folder_ / "precious") << "mine";
    auto const pid = std::to_string(::getpid());
    for (auto const* name : {"r.html", "r.html.tmp"}) {
        fs::create_symlink("precious", folder_ / name);
    }
    fs::create_symlink("precious", folder_ / ("r.html." + pid + ".tmp"));
    std::ofstream(folder_ / ("s." + pid + ".tmp")) << "left over";
    ::chmod((folder_ / ("s." + pid + ".tmp")).c_str(), 0666);
    ASSERT_TRUE(write_file_atomic(folder_ / "r.html", "page").has_value());
    ASSERT_TRUE(write_file_atomic(folder_ / "s", "secret", kPrivate).has_value());
    EXPECT_EQ(*read_file(folder_ / "precious"), "mine");
    EXPECT_FALSE(fs::is_symlink(folder_ / "r.html")) << "the link itself was replaced";
    EXPECT_EQ(*read_file(folder_ / "r.html"), "page");
    EXPECT_EQ(mode_of(folder_ / "s"), 0600);
}

TEST_F(NewFileTest, PrivateModesAreExactOthersLessTheUmask) {
    for (mode_t const mask : {0000, 0022, 0077, 0277}) {
        auto const before = ::umask(mask);
        auto const own = write_file_atomic(folder_ / "own", "x", kPrivate);
        auto const script = write_file_atomic(folder_ / "script", "x", 0700);
        auto const shared = write_file_atomic(folder_ / "shared", "x");
        ::umask(before);
        ASSERT_TRUE(own.has_value() && script.has_value() && shared.has_value());
        EXPECT_EQ(mode_of(folder_ / "own"), 0600);
        EXPECT_EQ(mode_of(folder_ / "script"), 0700);
        EXPECT_EQ(mode_of(folder_ / "shared"), static_cast<int>(0644 & ~mask));
    }
}

TEST_F(NewFileTest, APublishedNameMustBeFree) {
    auto first = NewFile::create(folder_ / "once", kPrivate);
    ASSERT_TRUE(first.has_value() && first->write("1").has_value());
    ASSERT_TRUE(first->publish().has_value());
    {
        auto second = NewFile::create(folder_ / "once", kPrivate);
        ASSERT_TRUE(second.has_value() && second->write("2").has_value());
        EXPECT_EQ(second->publish().error().code, Errc::busy);
    }
    EXPECT_EQ(*read_file(folder_ / "once"), "1");
}

TEST_F(NewFileTest, LongNamesAndFailuresLeaveNothing) {
    fs::path const path = folder_ / std::string(255, 'n');
    ASSERT_TRUE(write_file_atomic(path, "x").has_value());
    EXPECT_EQ(*read_file(path), "x");
    EXPECT_EQ(files(), 1);
    fs::create_directory(folder_ / "taken");
    auto const failed = write_file_atomic(folder_ / "taken", "x");
    ASSERT_TRUE(failed.has_error());
    EXPECT_THAT(failed.error().message, testing::StartsWith((folder_ / "taken").string() + ":"));
    EXPECT_EQ(files(), 2);
    auto const nowhere = write_file_atomic(folder_ / "none" / "x", "x");
    EXPECT_EQ(nowhere.error().code, Errc::not_found);
}

TEST_F(NewFileTest, AFileThatGrowsIsNoLink) {
    std::ofstream(folder_ / "precious") << "mine";
    fs::create_symlink("precious", folder_ / "controller.lock");
    auto const refused = open_private(folder_ / "controller.lock", O_RDWR | O_TRUNC);
    ASSERT_TRUE(refused.has_error());
    EXPECT_THAT(refused.error().message, testing::HasSubstr("is a symbolic link"));
    EXPECT_EQ(*read_file(folder_ / "precious"), "mine");
    ASSERT_TRUE(open_private(folder_ / "journal", O_RDWR | O_APPEND).has_value());
    EXPECT_EQ(mode_of(folder_ / "journal"), 0600);
}

}  // namespace
}  // namespace osora
