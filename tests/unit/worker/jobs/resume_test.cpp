// What a run does not continue from.
#include "worker/jobs/resume.hpp"

#include "tests/kit/temp_folder.hpp"
#include "tests/unit/worker/parallel/ranks.hpp"
#include "worker/jobs/train_data.hpp"

#include <ATen/Parallel.h>
#include <ATen/ops/ones.h>
#include <c10/core/GradMode.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <vector>

namespace osora::worker {
namespace {

class OneWeight final : public Objective {
public:
    OneWeight() : parameters_(at::TensorOptions(at::kFloat)) {
        at::NoGradGuard const no_grad;
        parameters_.add("w", {1}).fill_(1);
    }
    Parameters& parameters() override { return parameters_; }
    at::Tensor loss(MicroBatch const& batch) override { return batch.x.mean(); }

private:
    Parameters parameters_;
};

/// Their file has no numbers of the network, and another training has other ones.
TEST(Resume, AdaptersStayWithTheWeightsThatTheyWereTrainedOn) {
    tests::TempFolder const folder;
    auto const weights = [&](char const* name, char content) {
        std::ofstream(folder.path() / name, std::ios::binary) << std::string(1000, content);
    };
    weights("base.safetensors", 'a');
    weights("copy.safetensors", 'a');
    weights("tuned.safetensors", 'b');
    plan::WorkerJob job;
    job.base_dir = folder.path().string();
    job.run_dir = (folder.path() / "run").string();
    job.config.optim.lora_rank = 4;
    CheckpointState state;
    state.step = 2;
    state.arch = job.config.model.arch;
    state.model = job.config.model;
    state.model.init = "base.safetensors";
    state.lora_rank = 4;
    state.seed = job.config.train.seed + 1;  // refused as well, later
    CheckpointParts tensors;
    tensors.adapter.emplace_back("w", at::ones({1}));
    auto const saved = save_checkpoint(folder.path() / "run" / "checkpoints", state, tensors, 1);
    ASSERT_TRUE(saved.has_value()) << saved.error().message;

    RankEnvironment self;
    std::optional<Group> const alone;
    AgentLink agent(-1);
    auto const refused = [&](std::string const& init) {
        job.config.model.init = init;
        Trainer trainer(plan::WorkerJob(), std::make_unique<OneWeight>(), {});
        auto const step = restore_latest({job, self, alone, agent, {}}, trainer);
        return step.has_error() ? step.error().message : std::string();
    };
    for (char const* other : {"tuned.safetensors", ""})
        EXPECT_NE(refused(other).find("; set model.init = \"base.safetensors\", or submit"),
                  std::string::npos)
            << refused(other);
    for (char const* same : {"base.safetensors", "copy.safetensors", "gone.safetensors"})
        EXPECT_NE(refused(same).find(": seed is "), std::string::npos) << refused(same);
}

/// A link that not even root can follow, in the place of a file that cannot be read.
void make_unreadable(std::filesystem::path const& path) {
    std::filesystem::remove(path);
    std::filesystem::create_symlink(path.filename(), path);
}

/// A run that is alone, and what its rank says to its agent.
class Alone : public testing::Test {
protected:
    Alone() {
        EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends_.data()), 0);
        agent_.emplace(ends_[0]);
        job_.run_dir = folder_.path().string();
        job_.config.faults.collective_timeout = 0.1;  // half of it is waited
    }
    ~Alone() override { ::close(ends_[1]); }

    Result<int> first_step() {
        Trainer trainer(plan::WorkerJob(), std::make_unique<OneWeight>(), {});
        return restore_latest({job_, self_, group_, *agent_, {}}, trainer);
    }
    /// Since the last call.
    std::string said() {
        std::string text(1 << 16, '\0');
        auto const got = ::recv(ends_[1], text.data(), text.size(), MSG_DONTWAIT);
        text.resize(static_cast<std::size_t>(std::max<ssize_t>(0, got)));
        return text;
    }

    tests::TempFolder const folder_;
    std::filesystem::path const checkpoints_ = folder_.path() / "checkpoints";
    std::array<int, 2> ends_{-1, -1};
    std::optional<AgentLink> agent_;
    plan::WorkerJob job_;
    RankEnvironment self_;
    std::optional<Group> const group_;
};

/// It would look like a folder without checkpoints.
TEST_F(Alone, AFolderThatCannotBeReadStartsNothingOver) {
    make_unreadable(checkpoints_);
    auto const away = first_step();
    ASSERT_TRUE(away.has_error());
    EXPECT_EQ(away.error().code, Errc::io);
    EXPECT_EQ(away.error().message.find(checkpoints_.string() + ": read: "), 0u)
        << away.error().message;
    EXPECT_NE(said().find("; tried again in "), std::string::npos);
    std::filesystem::remove(checkpoints_);
    auto const fresh = first_step();
    ASSERT_TRUE(fresh.has_value()) << fresh.error().message;
    EXPECT_EQ(*fresh, 0);
    EXPECT_EQ(said(), "");
}

/// Older ones cost steps: the newest is waited for, unless it is damaged.
TEST_F(Alone, TheNewestCheckpointIsWaitedFor) {
    CheckpointState state;
    state.step = 2;
    CheckpointParts tensors;
    tensors.model.emplace_back("w", at::ones({1}));
    auto const saved = save_checkpoint(checkpoints_, state, tensors, 1);
    ASSERT_TRUE(saved.has_value()) << saved.error().message;
    make_unreadable(saved->path / "state.json");
    EXPECT_TRUE(first_step().has_error());
    EXPECT_NE(said().find("; tried again in "), std::string::npos);
    std::filesystem::remove(saved->path / "state.json");
    std::ofstream(saved->path / "state.json") << "damaged";
    EXPECT_TRUE(first_step().has_error());
    EXPECT_EQ(said().find("; tried again in "), std::string::npos);
}

/// The code with which a rank of two ends whose agent wants it to stop.
Errc code_of_stopped(std::filesystem::path const& run_dir, Group const& group) {
    at::set_num_threads(1);
    std::array<int, 2> ends{-1, -1};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
    AgentLink agent(ends[0]);
    ::close(ends[1]);  // counts as an order
    plan::WorkerJob job;
    job.run_dir = run_dir.string();
    RankEnvironment self;
    self.rank = group.rank();
    self.world_size = 2;
    std::optional<Group> const both = group;
    Trainer trainer(plan::WorkerJob(), std::make_unique<OneWeight>(), {});
    auto const step = restore_latest({job, self, both, agent, {}}, trainer);
    EXPECT_TRUE(step.has_error());
    return step.has_error() ? step.error().code : Errc::invalid_input;
}

/// A failure of data would be the end of the run, after which nothing starts it again.
TEST(Resume, AnOrderToStopEndsTheWaitOfAllRanksAndIsNoFailure) {
    tests::TempFolder const folder;
    make_unreadable(folder.path() / "checkpoints");
    std::array<Errc, 2> codes{Errc::io, Errc::io};
    run_ranks(2, [&](Group const& group) {
        codes[static_cast<std::size_t>(group.rank())] = code_of_stopped(folder.path(), group);
    });
    EXPECT_EQ(codes[0], Errc::cancelled);
    EXPECT_EQ(codes[1], Errc::cancelled);
}

/// The file system of its node may be away alone.
TEST(Resume, OtherRanksWaitForTheChosenCheckpoint) {
    tests::TempFolder const folder;
    auto const chosen = folder.path() / "step-00000002";
    std::filesystem::create_directory(chosen);
    make_unreadable(chosen / "state.json");
    run_ranks(2, [&](Group const& group) {
        std::string const path = chosen.string();
        if (group.rank() == 0)
            group.store().set("resume/0", std::vector<std::uint8_t>(path.begin(), path.end()));
        else
            EXPECT_EQ(code_of_stopped(folder.path(), group), Errc::cancelled);  // not io
    });
}

}  // namespace
}  // namespace osora::worker
