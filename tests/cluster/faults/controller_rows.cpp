// The controller is killed. The backend decides who starts the next one (docs/rfc/001): on Slurm
// the batch step does, the daemon does, else the user with `osora resume`.
#include "tests/cluster/faults/matrix.hpp"

#include <fmt/format.h>

namespace osora::cluster {
namespace {

using namespace protocol;

void resume(FaultyRun const& run) {
    auto const resumed = run.osora({"resume", "1", "--detach"});
    EXPECT_EQ(resumed.code, 0) << resumed.out << resumed.err << run.logs();
}

/// Agents of a local run end with their controller.
void kill_and_resume_local(Bed&, FaultyRun& run) {
    run.kill_controller();
    EXPECT_TRUE(run.folder().nothing_left()) << run.logs();
    EXPECT_TRUE(run.events<RunEnded>().empty()) << "nobody was there to decide that";
    resume(run);
}

/// Agents on other hosts continue to train.
void kill_and_resume(Bed&, FaultyRun& run) {
    auto const alive = run.folder().processes().size();
    run.kill_controller();
    EXPECT_EQ(run.folder().processes().size(), alive);
    resume(run);
}

void kill_only(Bed&, FaultyRun& run) {
    run.kill_controller();
}

/// Agents know the controller by its certificate, and send nothing to anybody else.
void kill_and_pose(Bed&, FaultyRun& run) {
    auto const agents = std::to_string(run.events<AgentJoined>().size());
    run.kill_controller();
    auto const impostor =
        run.on(run.events<ControllerStarted>().back().host,
               {OSORA_SOURCE_DIR "/tests/cluster/faults/impostor.py", run.run_dir(), agents});
    EXPECT_EQ(impostor.out, fmt::format("{} callers said 0 bytes\n", agents)) << impostor.err;
    auto const log = content_of(run.run_dir() / "agent-1.log");
    EXPECT_THAT(log, testing::HasSubstr("not the run's controller: its certificate is"));
    resume(run);
}

void two_lives(FaultyRun const& run) {
    EXPECT_EQ(run.events<ControllerStarted>().size(), 2u) << run.logs();
}

/// The second controller adopted the agents of the first.
void adopted(FaultyRun const& run) {
    two_lives(run);
    no_node_lost(run);
    EXPECT_EQ(run.events<AgentJoined>().size(), 3u);
    EXPECT_TRUE(run.events<RankFailed>().empty());
}

}  // namespace

std::vector<FaultRow> controller_rows() {
    return {
        {.name = "controller_killed",
         .backends = {"local"},
         .spec = {.lease_s = 5},  // agents without ranks exit when it is over
         .inject = kill_and_resume_local,
         .launches = 2,
         .check = two_lives},
        {.name = "controller_killed",
         .backends = {"ssh"},
         .gate = true,
         .spec = {},
         .inject = kill_and_resume,
         .check = adopted},
        {.name = "controller_killed",
         .backends = {"slurm"},
         .spec = {},
         .inject = kill_only,
         .check = adopted},
        {.name = "impostor_for_controller",
         .backends = {"ssh"},
         .spec = {},
         .inject = kill_and_pose,
         .check = adopted},
    };
}

}  // namespace osora::cluster
