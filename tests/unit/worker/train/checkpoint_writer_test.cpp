// Checkpoints written on a separate thread: one at a time, one copy of the tensors.
#include "worker/train/checkpoint_writer.hpp"

#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <latch>
#include <stdexcept>
#include <string>

namespace osora::worker {
namespace {

namespace fs = std::filesystem;

/// Memory of this process that is no file's.
double anonymous_mib() {
    std::ifstream status("/proc/self/status");
    for (std::string word; status >> word;) {
        double kib = 0;
        if (word == "RssAnon:" && status >> kib) return kib / 1024;
    }
    return 0;
}

class CheckpointWriterTest : public testing::Test {
protected:
    void SetUp() override { fs::create_directories(folder_); }
    void TearDown() override { fs::remove_all(folder_); }

    [[nodiscard]] static CheckpointParts tensors(std::int64_t mib) {
        CheckpointParts made;
        made.model.push_back({"w", at::full({mib, 1 << 18}, 1.0)});
        return made;
    }
    [[nodiscard]] static CheckpointState at_step(int step) {
        CheckpointState state;
        state.step = step;
        return state;
    }
    [[nodiscard]] at::Tensor written(int step) const {
        auto const loaded = load_checkpoint(list_checkpoints(folder_).front());
        EXPECT_EQ(loaded->state.step, step);
        return loaded->tensors.model.front().tensor.clone();
    }

    fs::path folder_ = fs::temp_directory_path() / ("osora writer " + std::to_string(getpid()));
};

TEST_F(CheckpointWriterTest, TrainingMayGoOn) {
    CheckpointWriter writer(folder_, 3);
    auto live = tensors(4);
    at::Tensor const then = live.model[0].parts[0].values.clone();
    writer.start(at_step(5), live);
    live.model[0].parts[0].values.fill_(7);
    auto const outcome = writer.wait();
    ASSERT_TRUE(outcome.has_value());
    EXPECT_TRUE(outcome->saved.has_value());
    EXPECT_TRUE(at::equal(written(5), then));
    EXPECT_FALSE(writer.poll().has_value());
}

TEST_F(CheckpointWriterTest, KeepsTheNewest) {
    CheckpointWriter writer(folder_, 2);
    auto const live = tensors(1);
    for (int step = 1; step <= 5; ++step) {
        writer.start(at_step(step), live);
        EXPECT_EQ(writer.wait()->step, step);
    }
    auto const kept = list_checkpoints(folder_);
    ASSERT_EQ(kept.size(), 2u);
    EXPECT_EQ(kept[0].filename(), "step-00000005");
    EXPECT_EQ(kept[1].filename(), "step-00000004");
}

TEST_F(CheckpointWriterTest, HoldsOneCopyOfTheTensors) {
    constexpr double kMib = 48;  // beyond what malloc keeps for later (32 MiB)
    auto const live = tensors(static_cast<std::int64_t>(kMib));
    double const before = anonymous_mib();
    {
        CheckpointWriter writer(folder_, 1);
        for (int step = 1; step <= 2; ++step) {
            writer.start(at_step(step), live);
            EXPECT_LT(anonymous_mib() - before, 1.25 * kMib) << step;
            EXPECT_TRUE(writer.wait()->saved.has_value());
        }
        EXPECT_LT(anonymous_mib() - before, 0.25 * kMib);
    }
    // Read back as views of the file, copied straight into tensors that are there.
    auto const loaded = load_checkpoint(list_checkpoints(folder_).front());
    live.model[0].parts[0].values.copy_(loaded->tensors.model[0].tensor);
    EXPECT_LT(anonymous_mib() - before, 0.25 * kMib);
}

TEST_F(CheckpointWriterTest, AFailureLeavesWhatWasThere) {
    CheckpointWriter writer(folder_, 2);
    writer.start(at_step(1), tensors(1));
    (void)writer.wait();
    fs::path const blocked = folder_ / "step-00000001" / "state.json" / "no folder";
    CheckpointWriter broken(blocked, 2);
    broken.start(at_step(2), tensors(1));
    EXPECT_TRUE(broken.wait()->saved.has_error());
    EXPECT_TRUE(load_checkpoint(list_checkpoints(folder_).front()).has_value());
}

/// Fails as a library does.
class Throwing final : public CheckpointPeers {
public:
    int rank() const override { return 0; }
    std::string tag() const override { return "test"; }
    Result<void> share(int, Result<void> const&) override { return {}; }
    Result<void> wait_for_all(int) override { throw std::runtime_error("stale file handle"); }
};

TEST_F(CheckpointWriterTest, AnExceptionIsAFailedSaveAndNoMore) {
    Throwing peers;
    CheckpointWriter writer(folder_, 2, &peers);
    writer.start(at_step(1), tensors(1));
    auto const outcome = writer.wait();
    ASSERT_TRUE(outcome.has_value());
    ASSERT_TRUE(outcome->saved.has_error());
    EXPECT_EQ(outcome->saved.error().message, "checkpoint: stale file handle");
    CheckpointWriter next(folder_, 2);
    next.start(at_step(2), tensors(1));
    EXPECT_TRUE(next.wait()->saved.has_value());
}

/// Notes what it is asked.
class Noting final : public CheckpointPeers {
public:
    explicit Noting(int rank) : rank_(rank) {}
    int rank() const override { return rank_; }
    std::string tag() const override { return "test"; }
    Result<void> share(int step, Result<void> const& written) override {
        said = fmt::format("{}: {}", step, written.has_error() ? written.error().message : "done");
        return {};
    }
    Result<void> wait_for_all(int) override {
        ++waits;
        return {};
    }

    std::string said;
    int waits = 0;

private:
    int rank_;
};

/// As when there is no memory for it: the training goes on, and no rank waits for this one.
TEST_F(CheckpointWriterTest, ACopyThatFailsIsAFailedSaveAndTheOthersHearOfIt) {
    TensorParts missing("w", at::kFloat, {1});
    missing.parts.push_back({.first = 0, .values = at::Tensor()});
    CheckpointParts broken;
    broken.model.push_back(missing);
    Noting second(1);
    CheckpointWriter writer(folder_, 2, &second);
    writer.start(at_step(3), broken);
    auto const failed = writer.wait();
    ASSERT_TRUE(failed && failed->saved.has_error());
    EXPECT_EQ(second.said, "3: " + failed->saved.error().message);
    Noting first(0);
    CheckpointWriter leader(folder_, 2, &first);
    leader.start(at_step(3), broken);
    EXPECT_TRUE(leader.wait()->saved.has_error());
    EXPECT_EQ(first.waits, 1) << "others still write to the folder";
    EXPECT_TRUE(list_checkpoints(folder_).empty());
}

/// Writes nothing before it may.
class Hanging final : public CheckpointPeers {
public:
    int rank() const override { return 0; }
    std::string tag() const override {
        answers.wait();
        return "test";
    }
    Result<void> share(int, Result<void> const&) override { return {}; }
    Result<void> wait_for_all(int) override { return {}; }

    std::latch answers{1};
};

TEST_F(CheckpointWriterTest, ASaveThatHangsIsNotWaitedFor) {
    Hanging peers;
    CheckpointWriter writer(folder_, 2, &peers);
    int signs = 0;
    auto const ends_within = [&](std::chrono::milliseconds patience) {
        return writer.ends_unless_stuck(patience, [&] { ++signs; });
    };
    EXPECT_TRUE(ends_within(std::chrono::milliseconds(0)));  // there is none
    writer.start(at_step(1), tensors(1));
    EXPECT_FALSE(ends_within(std::chrono::milliseconds(6)));
    EXPECT_EQ(signs, 5);
    peers.answers.count_down();
    EXPECT_TRUE(ends_within(std::chrono::minutes(6)));
    EXPECT_TRUE(writer.wait()->saved.has_value());
}

}  // namespace
}  // namespace osora::worker
