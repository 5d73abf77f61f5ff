#include "topology/live/storage_read.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace osora::topology {
namespace {

class StorageRead_ : public testing::Test {
protected:
    void SetUp() override {
        std::filesystem::create_directories(folder_ / "deep");
        for (auto const* name : {"a", "deep/b", "deep/c"}) {
            std::ofstream(folder_ / name) << std::string(100'000, 'x');
        }
        std::ofstream(folder_ / "empty");
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }
    [[nodiscard]] std::string at(std::string const& name) const {
        return (folder_ / name).string();
    }

    std::filesystem::path folder_ =
        std::filesystem::temp_directory_path() / ("storage-" + std::to_string(::getpid()));
};

TEST_F(StorageRead_, finds_files_below_a_folder_but_no_empty_ones) {
    auto const files = files_to_read({folder_.string()});
    ASSERT_TRUE(files.has_value());
    EXPECT_THAT(*files, testing::ElementsAre(at("a"), at("deep/b"), at("deep/c")));
    EXPECT_EQ(files_to_read({folder_.string()}, 2)->size(), 2u);
    EXPECT_EQ(files_to_read({at("nothing")}).error().message,
              at("nothing") + ": no such file or folder");
}

TEST_F(StorageRead_, reads_each_file_once_from_the_first_on) {
    auto const files = files_to_read({folder_.string()});
    auto const read = read_storage(*files, 2, {.limit_s = 5});
    ASSERT_TRUE(read.has_value());
    EXPECT_EQ(read->bytes, 300'000);
    EXPECT_EQ(read->files, 3);
    EXPECT_EQ(read->path, at("deep/c"));
    EXPECT_GT(read->open_us, 0);
    EXPECT_GT(read->seconds, 0);
}

TEST_F(StorageRead_, says_why_nothing_could_be_read) {
    auto const read = read_storage({at("nothing")}, 0, {});
    ASSERT_TRUE(read.has_error());
    EXPECT_THAT(read.error().message, testing::HasSubstr("No such file"));
}

}  // namespace
}  // namespace osora::topology
