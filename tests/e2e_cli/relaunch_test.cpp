// osora relaunch: a held run continues in a new attempt, and nothing of it counts as a fault.
#include "protocol/json.hpp"
#include "tests/e2e_cli/cli_fixture.hpp"

#include <fmt/format.h>

namespace osora::e2e_cli {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

class RelaunchCommand : public Cli {
protected:
    void SetUp() override {
        Cli::SetUp();
        set_variable(environment_, "USER", "alice");
        write_run_file(60);
        hold_at(25);
    }
    int newest_attempt() const {
        auto const launches = run().events<protocol::LaunchOrdered>();
        return launches.empty() ? -1 : launches.back().attempt;
    }
};

TEST_F(RelaunchCommand, ANewAttemptResumesFromTheCheckpointOfTheStop) {
    auto running = start({"submit", "run.toml"});
    ASSERT_TRUE(running.says("checkpoint 20 saved"));
    auto const asked = osora({"relaunch", "1", "--reason", "new driver"});
    EXPECT_EQ(asked.code, 0) << asked.err << run().logs();
    EXPECT_THAT(asked.out,
                AllOf(HasSubstr("run 1: stopping after its step, with a checkpoint, to launch its "
                                "workers again\n"),
                      ContainsRegex("run 1: attempt 1 runs from checkpoint 2[0-9] · 0 steps "
                                    "repeated · restarts after faults: 0 of 3\n")));
    run().release();
    auto const ended = running.wait();
    EXPECT_EQ(ended.code, 0) << ended.out << run().logs();
    EXPECT_THAT(ended.out, AllOf(HasSubstr("  relaunch asked by alice: new driver · stopping after "
                                           "this step\n"),
                                 ContainsRegex("  relaunch from checkpoint 2[0-9], as asked\n"),
                                 HasSubstr("done     60 steps"), Not(HasSubstr("relaunch 1 of"))));
    auto const report = osora({"report", "1"}).out;
    EXPECT_THAT(report, HasSubstr("0 relaunches of 3 · 1 as asked · 0 steps repeated"));
    EXPECT_THAT(report, HasSubstr("relaunch asked by alice: new driver"));
    EXPECT_TRUE(all_gone("demo-0001"));
}

TEST_F(RelaunchCommand, NowDoesNotWaitForACheckpoint) {
    EXPECT_EQ(osora({"submit", "run.toml", "--detach"}).code, 0);
    auto watching = start({"watch", "1"});
    ASSERT_TRUE(watching.says("step 25/60"));
    auto const asked = osora({"relaunch", "demo-0001", "--now", "--json"});
    EXPECT_EQ(asked.code, 0) << asked.err << run().logs();
    auto const answer = protocol::parse_json(asked.out).value();
    EXPECT_EQ(answer.at("schema"), "osora.relaunch/1");
    EXPECT_EQ(answer.at("attempt"), 1);
    EXPECT_EQ(answer.at("state"), "running");
    EXPECT_EQ(answer.at("start_step"), 20);
    EXPECT_EQ(answer.at("steps_repeated"), 5);
    EXPECT_EQ(answer.at("restarts"), 0);
    EXPECT_EQ(answer.at("asked_relaunches"), 1);
    EXPECT_EQ(answer.at("cause"), "relaunch asked by alice");
    auto const file = run_dir("demo-0001") / "relaunch.json";  // as osora on another machine asks
    write(file, "{\"now\": true, \"user\": \"bob\"}\n");
    EXPECT_TRUE(eventually([&] { return newest_attempt() == 2; })) << run().logs();
    EXPECT_FALSE(std::filesystem::exists(file));
    EXPECT_THAT(osora({"status", "1"}).out, HasSubstr("relaunched 2 times as asked; last: "
                                                      "relaunch asked by bob"));
    run().release();
    auto const watched = watching.wait();
    EXPECT_EQ(watched.code, 0) << watched.out;
    EXPECT_THAT(watched.out, AllOf(HasSubstr("  relaunch asked by bob\n"),
                                   HasSubstr("  relaunch from checkpoint 20, as asked\n")));
}

TEST_F(RelaunchCommand, SaysWhyThereIsNothingToRelaunch) {
    EXPECT_EQ(osora({"submit", "run.toml", "--detach"}).code, 0);
    EXPECT_EQ(osora({"cancel", "1"}).code, 0);
    auto const ended = osora({"relaunch", "1"});
    EXPECT_EQ(ended.code, 2);
    EXPECT_THAT(ended.err, HasSubstr("run 1 has ended (cancelled): osora resume 1 continues it"));
    auto const unknown = osora({"relaunch", "demo-0002"});
    EXPECT_EQ(unknown.code, 2);
    EXPECT_THAT(unknown.err, AllOf(HasSubstr("demo-0002"), HasSubstr("demo-0001")));
    EXPECT_EQ(osora({"relaunch"}).code, 2);
    auto const chatty = osora({"relaunch", "1", "--reason", std::string(201, 'x')});
    EXPECT_EQ(chatty.code, 2);
    EXPECT_THAT(chatty.err, HasSubstr("--reason: 201 bytes"));
}

}  // namespace
}  // namespace osora::e2e_cli
