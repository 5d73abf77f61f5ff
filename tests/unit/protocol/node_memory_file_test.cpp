#include "protocol/node_memory_file.hpp"

#include "base/files/file_lock.hpp"
#include "base/files/files.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace osora::protocol {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::int64_t kNow_us = 1'800'000'000'000'000;

class NodeMemoryFileTest : public testing::Test {
protected:
    NodeMemoryFileTest() { fs::create_directories(state_.dir); }
    ~NodeMemoryFileTest() override { fs::remove_all(state_.dir); }

    void remember(std::string const& host) {
        HostFault const fault{.host = host, .cause = "fell silent", .weight = 2};
        ASSERT_TRUE(remember_fault(state_, fault, kNow_us).has_value());
    }
    void write(std::string const& text) {
        ASSERT_TRUE(write_file_atomic(state_.node_memory(), text).has_value());
    }
    StatePaths state_{fs::path(testing::TempDir()) / fmt::format("nodes-{}", ::getpid())};
};

TEST_F(NodeMemoryFileTest, HasTheFaultsOfEarlierRuns) {
    EXPECT_THAT(read_node_memory(state_).value().nodes, IsEmpty()) << "without the file";
    EXPECT_THAT(remembered_bad_hosts(state_, kNow_us), IsEmpty());
    remember("n3");
    remember("n5");
    remember("n3");
    EXPECT_EQ(read_node_memory(state_).value().nodes.size(), 2u);
    EXPECT_THAT(remembered_bad_hosts(state_, kNow_us), ElementsAre("n3", "n5"));
}

TEST_F(NodeMemoryFileTest, ADamagedFileIsAnErrorForItsReaderAndNoReasonToFailARun) {
    for (std::string const text : {"{\"nodes\": [", "{\"nodes\": 7}", ""}) {
        write(text);
        auto const read = read_node_memory(state_);
        ASSERT_TRUE(read.has_error()) << text;
        EXPECT_EQ(read.error().code, Errc::invalid_input);
        EXPECT_THAT(read.error().message, HasSubstr("node_memory.json: "));
        EXPECT_THAT(remembered_bad_hosts(state_, kNow_us), IsEmpty());
        EXPECT_TRUE(forget_node(state_, "n3").has_error());
        remember("n3");
        EXPECT_THAT(remembered_bad_hosts(state_, kNow_us), ElementsAre("n3")) << "it is replaced";
    }
}

TEST_F(NodeMemoryFileTest, ForgetsOneNode) {
    EXPECT_FALSE(forget_node(state_, "n3").value());
    EXPECT_FALSE(fs::exists(state_.node_memory().string() + ".lock")) << "nothing to lock";
    remember("n3");
    remember("n5");
    EXPECT_TRUE(forget_node(state_, "n3").value());
    EXPECT_FALSE(forget_node(state_, "n3").value());
    EXPECT_THAT(remembered_bad_hosts(state_, kNow_us), ElementsAre("n5"));
}

TEST_F(NodeMemoryFileTest, IsNotChangedWhileAnotherProcessChangesIt) {
    remember("n3");
    auto const lock = FileLock::acquire(state_.node_memory().string() + ".lock");
    ASSERT_TRUE(lock.has_value());
    EXPECT_EQ(forget_node(state_, "n3").error().code, Errc::busy);
    EXPECT_THAT(remembered_bad_hosts(state_, kNow_us), ElementsAre("n3")) << "but it is read";
}

}  // namespace
}  // namespace osora::protocol
