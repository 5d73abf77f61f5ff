// The settings of a submitted run, of this version and of others, and what its errors name.
#include "plan/config/submitted_run.hpp"

#include "base/files/files.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace osora::plan {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

protocol::RunSubmitted record() {
    RunConfig config;
    config.run.name = "demo";
    config.train.steps = 50;
    protocol::RunSubmitted made;
    made.run_uuid = "aaaa";
    made.run_name = "demo-0007";
    made.config = protocol::to_json(config);
    made.origins = protocol::to_json(Origins{{"train.steps", {Layer::command_line, "", 0}}});
    return made;
}

std::string refusal_of(protocol::RunSubmitted made) {
    auto const run = submitted_run(std::move(made));
    return run.has_error() ? run.error().message : "no error";
}

TEST(SubmittedRun, HasItsSettingsAndWhereTheyCameFrom) {
    auto const run = submitted_run(record());
    ASSERT_TRUE(run.has_value()) << run.error().message;
    EXPECT_EQ(run->record.run_name, "demo-0007");
    EXPECT_EQ(run->config.train.steps, 50);
    EXPECT_EQ(run->origins.at("train.steps").layer, Layer::command_line);
}

TEST(SubmittedRun, ErrorsNameTheRunAndTheField) {
    auto wrong_type = record();
    wrong_type.config.at("train").as_object()["steps"] = "many";
    EXPECT_EQ(refusal_of(wrong_type),
              "run demo-0007: config.train.steps: expected an integer, found a string");
    auto without_config = record();
    without_config.config = nullptr;
    EXPECT_EQ(refusal_of(without_config), "run demo-0007: config: expected an object, found null");
    auto without_uuid = record();
    without_uuid.run_uuid.clear();
    EXPECT_EQ(refusal_of(without_uuid), "run demo-0007: run_uuid: missing");
    auto without_nodes = record();
    without_nodes.nodes = 0;
    EXPECT_EQ(refusal_of(without_nodes), "run demo-0007: nodes: 0, must be at least 1");
    auto without_ranks = record();
    without_ranks.ranks_per_node = -1;
    EXPECT_EQ(refusal_of(without_ranks), "run demo-0007: ranks_per_node: -1, must be at least 1");
    EXPECT_THAT(refusal_of({}), StartsWith("run without a name: "));
}

TEST(SubmittedRun, ReadsWhatAnotherVersionWrote) {
    auto other = record();
    other.config.at("train").as_object().erase("seed");
    other.config.as_object()["new_section"] = {{"key", 1}};
    other.origins = {{"train.steps", {{"layer", "a_layer_of_later"}}}};
    auto const run = submitted_run(other);
    ASSERT_TRUE(run.has_value()) << run.error().message;
    EXPECT_EQ(run->config.train.steps, 50);
    EXPECT_EQ(run->config.train.seed, RunConfig().train.seed);
    EXPECT_TRUE(run->origins.empty());
}

TEST(SubmittedRun, ErrorsOfTheFileNameTheFile) {
    auto const folder =
        std::filesystem::path(testing::TempDir()) / fmt::format("submitted {}", ::getpid());
    std::filesystem::create_directories(folder);
    protocol::RunPaths const paths{folder};
    auto const message = [&] { return read_submitted_run(paths).error().message; };
    EXPECT_THAT(message(), HasSubstr("submission.json: open: No such file"));
    auto broken = record();
    broken.config.at("train") = 3;
    ASSERT_TRUE(write_file_atomic(paths.submission(), protocol::encode(broken)).has_value());
    EXPECT_EQ(message(), paths.submission().string() +
                             ": run demo-0007: config.train: expected an object, found an integer");
    EXPECT_EQ(read_submission(paths)->run_uuid, "aaaa") << "the record alone can be read";
    ASSERT_TRUE(write_file_atomic(paths.submission(), protocol::encode(record())).has_value());
    EXPECT_EQ(read_submitted_run(paths)->config.run.name, "demo");
    std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace osora::plan
