// osora submit inside a job: how it uses an allocation, with a script in place of srun.
#include "tests/e2e_slurm/slurm_fixture.hpp"

#include "base/files/files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>

namespace osora::e2e_cli {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

class InJob : public SlurmCli {
protected:
    void SetUp() override {
        SlurmCli::SetUp();
        set_variable(environment_, "SLURM_JOB_ID", "77");
        set_variable(environment_, "SLURM_JOB_NODELIST", "n[0-3]");
    }
};

TEST_F(InJob, AStepForAllAgentsAndNothingIsLeft) {
    write_slurm_file(40, "nodes = 3\n");
    auto const ended = osora({"submit", "run.toml"});
    EXPECT_EQ(ended.code, 0) << ended.out << ended.err << log();
    EXPECT_THAT(ended.out, HasSubstr("slurm: 3 nodes x 2 = 6 ranks"));
    EXPECT_THAT(ended.out, HasSubstr("\nlaunch   6 ranks in "));
    EXPECT_THAT(events<protocol::AgentJoined>(), SizeIs(3));
    EXPECT_THAT(log(), HasSubstr("\"step started\" agents=3"));
    EXPECT_TRUE(all_gone("demo-0001"));
    EXPECT_FALSE(std::filesystem::exists(run_dir("demo-0001") / "slurm.json"));
}

TEST_F(InJob, AKilledAgentComesBackAndItsEndIsKnownAtOnce) {
    write_slurm_file(300, "nodes = 3\n", held_at(20));
    auto running = start({"submit", "run.toml"});
    ASSERT_TRUE(running.says("launch   6 ranks")) << running.out() << log();
    auto const agents = events<protocol::AgentJoined>();
    ASSERT_THAT(agents, SizeIs(3));
    ASSERT_EQ(::kill(agents[1].pid, SIGKILL), 0);
    run().release();
    auto const ended = running.wait();
    EXPECT_EQ(ended.code, 0) << ended.out << ended.err << log();
    auto const lost = events<protocol::NodeLost>();
    ASSERT_THAT(lost, SizeIs(1));
    EXPECT_EQ(lost[0].node, agents[1].node);
    EXPECT_THAT(lost[0].why, HasSubstr("signal 9"));
    EXPECT_THAT(events<protocol::AgentJoined>(), SizeIs(4));
    EXPECT_TRUE(all_gone("demo-0001"));
}

TEST_F(InJob, AHostThatDoesNotAnswerIsReplacedByASpare) {
    write_slurm_file(300, "nodes = 3\nspares = 1\n", held_at(20));
    auto running = start({"submit", "run.toml"});
    ASSERT_TRUE(running.says("launch   6 ranks")) << running.out() << log();
    write("down", "n1\n");
    auto const agents = events<protocol::AgentJoined>();
    auto const second = std::ranges::find(agents, 1, &protocol::AgentJoined::node);
    ASSERT_NE(second, agents.end());
    ASSERT_EQ(::kill(second->pid, SIGKILL), 0);
    run().release();
    auto const ended = running.wait();
    EXPECT_EQ(ended.code, 0) << ended.out << ended.err << log();
    EXPECT_THAT(log(), HasSubstr("\"host failed\" host=n1"));
    auto const memory = read_file(folder_ / "state" / "node_memory.json");
    ASSERT_TRUE(memory.has_value());
    EXPECT_THAT(*memory, HasSubstr("\"host\":\"n1\""));
    EXPECT_TRUE(all_gone("demo-0001"));
}

TEST_F(InJob, AnAllocationThatIsTooSmallIsRefusedWithBothNumbers) {
    write_slurm_file(40, "nodes = 3\n", "exclude_nodes = [\"n0\", \"n2\"]\n");
    auto const ended = osora({"submit", "run.toml"});
    EXPECT_NE(ended.code, 0);
    EXPECT_THAT(ended.out + ended.err,
                HasSubstr("job 77: the job has 2 usable nodes (n[0-3]); the run needs 3"));
}

TEST_F(InJob, AStopRequestIsFoundInTheRunDirectory) {
    write_slurm_file(100'000, "nodes = 2\n");
    auto running = start({"submit", "run.toml"});
    ASSERT_TRUE(running.says("launch   4 ranks")) << running.out() << log();
    write("state/runs/demo-0001/stop.json", R"({"now": false, "reason": "from far away"})");
    auto const ended = running.wait();
    EXPECT_EQ(ended.code, 130) << ended.out;
    EXPECT_THAT(ended.out, HasSubstr("stopping after this step: from far away"));
    EXPECT_FALSE(std::filesystem::exists(run_dir("demo-0001") / "stop.json"));
}

}  // namespace
}  // namespace osora::e2e_cli
