#include "worker/jobs/rank_environment.hpp"

#include <gtest/gtest.h>

namespace osora::worker {
namespace {

TEST(RankEnvironment, AloneByDefault) {
    auto const self = rank_environment({});
    ASSERT_TRUE(self.has_value());
    EXPECT_EQ(self->rank, 0);
    EXPECT_EQ(self->world_size, 1);
    EXPECT_EQ(self->agent_fd, -1);
}

TEST(RankEnvironment, ReadsWhatTorchrunSets) {
    auto const self = rank_environment({{"RANK", "5"},
                                        {"LOCAL_RANK", "1"},
                                        {"WORLD_SIZE", "8"},
                                        {"LOCAL_WORLD_SIZE", "4"},
                                        {"MASTER_ADDR", "n0"},
                                        {"MASTER_PORT", "29500"},
                                        {"GLOO_SOCKET_IFNAME", "ib0,ib1"},
                                        {"OSORA_ATTEMPT", "2"},
                                        {"OSORA_AGENT_FD", "7"}});
    ASSERT_TRUE(self.has_value()) << self.error().message;
    EXPECT_EQ(self->rank, 5);
    EXPECT_EQ(self->local_rank, 1);
    EXPECT_EQ(self->master_addr, "n0");
    EXPECT_EQ(self->master_port, 29500);
    EXPECT_EQ(self->interface, "ib0");
    EXPECT_EQ(self->attempt, 2);
    EXPECT_EQ(self->agent_fd, 7);
}

TEST(RankEnvironment, NamesWhatIsWrong) {
    auto message = [](std::map<std::string, std::string> const& environment) {
        return rank_environment(environment).error().message;
    };
    EXPECT_EQ(message({{"RANK", "8"}, {"WORLD_SIZE", "8"}, {"MASTER_PORT", "1"}}),
              "RANK='8': expected a number from 0 to 7");
    EXPECT_EQ(message({{"WORLD_SIZE", "4x"}}),
              "WORLD_SIZE='4x': expected a number from 1 to "
              "1048576");
    EXPECT_EQ(message({{"WORLD_SIZE", "2"}}), "WORLD_SIZE > 1 needs MASTER_PORT");
}

TEST(ExitCode, FollowsTheContract) {
    EXPECT_EQ(exit_code_of({Errc::unreachable, ""}), 10);
    EXPECT_EQ(exit_code_of({Errc::out_of_memory, ""}), 12);
    EXPECT_EQ(exit_code_of({Errc::out_of_space, ""}), 13);
    EXPECT_EQ(exit_code_of({Errc::io, "read clips.csv: no permission"}), 13);
    EXPECT_EQ(exit_code_of({Errc::io, "step 3: LibTorch: CUDA error: device-side assert"}), 15);
    EXPECT_EQ(exit_code_of({Errc::invalid_input, ""}), 14);
    EXPECT_EQ(exit_code_of({Errc::cancelled, ""}), 16);
    std::string const ecc = "CUDA error: uncorrectable ECC error encountered";
    EXPECT_EQ(exit_code_of({Errc::io, "step 3: LibTorch: " + ecc}), 17);
    EXPECT_EQ(exit_code_of({Errc::unreachable, "gradients: NCCL error: " + ecc}), 17);
    EXPECT_EQ(exit_code_of({Errc::invalid_input, "GPU 0: CUDA error: unknown error"}), 17);
    EXPECT_EQ(exit_code_of({Errc::out_of_memory, "CUDA error: unknown error"}), 12);
}

}  // namespace
}  // namespace osora::worker
