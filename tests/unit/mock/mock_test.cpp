// The mock worker's script and checkpoints; its processes are tested in tests/e2e.
#include "base/files.hpp"
#include "worker/mock/checkpoint.hpp"
#include "worker/mock/script.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <fstream>

namespace osora::mock {
namespace {

using testing::HasSubstr;

TEST(MockScript, FaultsNameRankStepValueAndEpoch) {
    auto const fault = parse_fault("1:20:13@2");
    ASSERT_TRUE(fault.has_value());
    EXPECT_TRUE(fault->is_at(1, 2, 20));
    EXPECT_EQ(fault->value, 13);
    EXPECT_FALSE(fault->is_at(0, 2, 20));
    EXPECT_FALSE(fault->is_at(1, 1, 20));
    EXPECT_FALSE(fault->is_at(1, 2, 21));
    EXPECT_TRUE(parse_fault("*:7")->is_at(5, 9, 7));
}

TEST(MockScript, WhatDoesNotParseNamesTheVariable) {
    for (std::string const text : {"", "1", "1:", "1:2:3:4", "x:1", "1:2@", "1:2x"}) {
        auto const script = read_script({"OSORA_MOCK_KILL=" + text});
        ASSERT_TRUE(script.has_error()) << text;
        EXPECT_THAT(script.error().message, HasSubstr("OSORA_MOCK_KILL")) << text;
    }
}

TEST(MockScript, NothingSetMeansNoFault) {
    auto const script = read_script({"PATH=/bin"});
    ASSERT_TRUE(script.has_value());
    EXPECT_FALSE(script->kill || script->fail || script->hang || script->ignore_term);
}

TEST(MockCheckpoint, TheNewestThatReadsBackWins) {
    std::string folder = testing::TempDir() + "osora-mock-XXXXXX";
    ASSERT_NE(::mkdtemp(folder.data()), nullptr);
    std::filesystem::path const path(folder);
    EXPECT_EQ(find_checkpoint(path), 0);
    for (int const step : {10, 20, 30}) ASSERT_TRUE(save_checkpoint(path, step, 2).has_value());
    EXPECT_FALSE(std::filesystem::exists(path / "step-00000010"));
    EXPECT_EQ(find_checkpoint(path), 30);
    std::ofstream(path / "step-00000030" / "state.json") << "{\"st";
    EXPECT_EQ(find_checkpoint(path), 20);
    std::filesystem::remove_all(path);
}

}  // namespace
}  // namespace osora::mock
