#include "worker/train/checkpoint.hpp"

#include "worker/train/checkpoint_writer.hpp"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <future>

namespace osora::worker {
namespace {

namespace fs = std::filesystem;

class Checkpoints : public testing::Test {
protected:
    void SetUp() override {
        std::string pattern = (fs::temp_directory_path() / "osora-checkpoint-XXXXXX").string();
        folder_ = mkdtemp(pattern.data());
    }
    void TearDown() override { fs::remove_all(folder_); }

    static CheckpointParts tensors(double value) {
        at::Tensor const each = at::full({300, 40}, value);
        CheckpointParts tensors;
        tensors.model = {{"a.weight", each}};
        tensors.ema = {{"a.weight", each + 1}};
        tensors.exp_avg = {{"a.weight", each + 2}};
        tensors.exp_avg_sq = {{"a.weight", each + 3}};
        return tensors;
    }
    static CheckpointState state(int step) {
        CheckpointState state;
        state.step = step;
        state.schedule_hash = 0xFEDCBA9876543210ull;
        return state;
    }
    fs::path folder_;
};

TEST_F(Checkpoints, ReadBackWhatWasWritten) {
    auto const saved = save_checkpoint(folder_, state(7), tensors(0.5), 3);
    ASSERT_TRUE(saved.has_value()) << saved.error().message;
    EXPECT_EQ(saved->path.filename(), "step-00000007");
    EXPECT_GT(saved->bytes, 4 * 300 * 40 * 4);
    auto const loaded = load_checkpoint(saved->path);
    ASSERT_TRUE(loaded.has_value()) << loaded.error().message;
    EXPECT_EQ(loaded->state.step, 7);
    EXPECT_EQ(loaded->state.schedule_hash, 0xFEDCBA9876543210ull);
    ASSERT_EQ(loaded->tensors.exp_avg_sq.size(), 1u);
    EXPECT_EQ(loaded->tensors.exp_avg_sq[0].name, "a.weight");
    EXPECT_TRUE(at::equal(loaded->tensors.exp_avg_sq[0].tensor, at::full({300, 40}, 3.5)));
}

TEST_F(Checkpoints, KeepsTheNewest) {
    for (int step : {2, 4, 10, 8}) {
        ASSERT_TRUE(save_checkpoint(folder_, state(step), tensors(step), 2).has_value());
    }
    auto const kept = list_checkpoints(folder_);
    ASSERT_EQ(kept.size(), 2u);
    EXPECT_EQ(kept[0].filename(), "step-00000010");
    EXPECT_EQ(kept[1].filename(), "step-00000008");
}

TEST_F(Checkpoints, WhatACrashLeftIsNotOneAndGoes) {
    fs::create_directories(folder_ / "writing-00000004-1");
    std::ofstream(folder_ / "step-x") << "no";
    EXPECT_TRUE(list_checkpoints(folder_).empty());
    ASSERT_TRUE(save_checkpoint(folder_, state(5), tensors(1), 1).has_value());
    EXPECT_FALSE(fs::exists(folder_ / "writing-00000004-1"));
}

TEST_F(Checkpoints, DamageIsNamed) {
    auto const saved = save_checkpoint(folder_, state(5), tensors(1), 1);
    fs::resize_file(saved->path / "ema.safetensors", 100);
    auto const loaded = load_checkpoint(saved->path);
    ASSERT_TRUE(loaded.has_error());
    EXPECT_EQ(loaded.error().code, Errc::corrupt);
    EXPECT_NE(loaded.error().message.find("ema.safetensors"), std::string::npos);
}

// A file size limit simulates a full disk.
TEST_F(Checkpoints, AFailedSaveKeepsTheOldOnes) {
    ASSERT_TRUE(save_checkpoint(folder_, state(1), tensors(1), 1).has_value());
    pid_t const child = fork();
    if (child == 0) {
        signal(SIGXFSZ, SIG_IGN);
        rlimit const limit{20'000, 20'000};
        setrlimit(RLIMIT_FSIZE, &limit);
        auto const saved = save_checkpoint(folder_, state(2), tensors(2), 1);
        _exit(saved.has_error() && saved.error().code == Errc::out_of_space ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
    ASSERT_EQ(list_checkpoints(folder_).size(), 1u);
    EXPECT_EQ(list_checkpoints(folder_)[0].filename(), "step-00000001");
    EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1);
}

class FailedPeers final : public CheckpointPeers {
public:
    int rank() const override { return 0; }
    std::string tag() const override { return "launch0"; }
    Result<void> share(int, Result<void> const&) override { return {}; }
    Result<void> wait_for_all(int) override {
        return Error{Errc::out_of_space, "rank 3: no space left"};
    }
};

// One rank of several could not write its part: no checkpoint, and nothing of it stays.
TEST_F(Checkpoints, AllRanksOrNone) {
    ASSERT_TRUE(save_checkpoint(folder_, state(1), tensors(1), 1).has_value());
    FailedPeers peers;
    auto const saved = save_checkpoint(folder_, state(2), tensors(2), 1, {.peers = &peers});
    ASSERT_TRUE(saved.has_error());
    EXPECT_EQ(saved.error().message, "rank 3: no space left");
    ASSERT_EQ(list_checkpoints(folder_).size(), 1u);
    EXPECT_EQ(list_checkpoints(folder_)[0].filename(), "step-00000001");
    EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1);
}

// Another rank may be at the next step's files already.
TEST_F(Checkpoints, FilesOfLaterStepsAreLeftAlone) {
    fs::create_directories(folder_ / "writing-00000009-launch0");
    ASSERT_TRUE(save_checkpoint(folder_, state(5), tensors(1), 1).has_value());
    EXPECT_TRUE(fs::exists(folder_ / "writing-00000009-launch0"));
}

TEST_F(Checkpoints, TheWriterSavesACopy) {
    CheckpointWriter writer(folder_, 2);
    auto live = tensors(1);
    writer.start(state(3), live);
    live.model[0].parts[0].values.fill_(9);
    auto const outcome = writer.wait();
    ASSERT_TRUE(outcome.has_value() && outcome->saved.has_value());
    EXPECT_EQ(outcome->step, 3);
    EXPECT_EQ(load_checkpoint(outcome->saved->path)->tensors.model[0].tensor.max().item<float>(),
              1);
    EXPECT_FALSE(writer.wait().has_value());
}

/// A rank that writes until it is let go.
class SlowPeers final : public CheckpointPeers {
public:
    explicit SlowPeers(std::future<void> go) : go_(std::move(go)) {}
    int rank() const override { return 0; }
    std::string tag() const override { return "launch0"; }
    Result<void> share(int, Result<void> const&) override { return {}; }
    Result<void> wait_for_all(int) override {
        waiting.set_value();
        go_.wait();
        return {};
    }
    std::promise<void> waiting;

private:
    std::future<void> go_;
};

TEST_F(Checkpoints, AWriterShowsThatASaveGoesOn) {
    std::promise<void> go;
    SlowPeers peers(go.get_future());
    CheckpointWriter writer(folder_, 2, &peers);
    EXPECT_TRUE(writer.ends_within(std::chrono::hours(1))) << "there is none";
    EXPECT_FALSE(writer.has_advanced());
    writer.start(state(3), tensors(1));
    peers.waiting.get_future().wait();
    EXPECT_FALSE(writer.ends_within(std::chrono::milliseconds(1)));
    EXPECT_TRUE(writer.has_advanced()) << "its own files";
    EXPECT_TRUE(writer.has_advanced()) << "the files of others";
    go.set_value();
    auto const outcome = writer.wait();
    ASSERT_TRUE(outcome.has_value() && outcome->saved.has_value());
    EXPECT_FALSE(writer.has_advanced());
}

// What a crash of the machine left of step 5 is written again, and counts for nothing.
TEST_F(Checkpoints, OneThatCannotBeReadIsReplaced) {
    for (int step : {3, 5}) ASSERT_TRUE(save_checkpoint(folder_, state(step), tensors(1), 2));
    fs::resize_file(folder_ / "step-00000005" / "ema.safetensors", 100);
    auto const again = save_checkpoint(folder_, state(5), tensors(2), 2);
    ASSERT_TRUE(again.has_value()) << again.error().message;
    auto const loaded = load_checkpoint(folder_ / "step-00000005");
    ASSERT_TRUE(loaded.has_value()) << loaded.error().message;
    EXPECT_EQ(loaded->tensors.model[0].tensor.max().item<float>(), 2);
    EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 2) << "nothing is left over";
    // One that can be read stays as it is.
    ASSERT_TRUE(save_checkpoint(folder_, state(5), tensors(7), 2).has_value());
    EXPECT_EQ(load_checkpoint(again->path)->tensors.model[0].tensor.max().item<float>(), 2);
}

TEST_F(Checkpoints, OneThatCannotBeReadTakesNoPlace) {
    for (int step : {3, 9}) ASSERT_TRUE(save_checkpoint(folder_, state(step), tensors(1), 2));
    fs::resize_file(folder_ / "step-00000009" / "model.safetensors", 100);
    for (int step : {5, 7}) ASSERT_TRUE(save_checkpoint(folder_, state(step), tensors(1), 2));
    std::vector<std::string> names;
    for (auto const& each : list_checkpoints(folder_)) names.push_back(each.filename());
    EXPECT_EQ(names, (std::vector<std::string>{"step-00000009", "step-00000007", "step-00000005"}));
}

}  // namespace
}  // namespace osora::worker
