// User programs: their steps become the run's, their last output its cause, and an occupied port is
// retried.
#include "base/files/files.hpp"
#include "protocol/messages/message.hpp"
#include "protocol/run_view.hpp"
#include "tests/e2e/run_fixture.hpp"

#include <fmt/format.h>
#include <unistd.h>

namespace osora::e2e {
namespace {

using namespace protocol;
using testing::HasSubstr;

class E2eExec : public Run {
protected:
    static RunSpec shell(std::string const& script) {
        RunSpec spec;
        spec.job = "exec";
        spec.command = {"sh", "-c", script};
        spec.max_restarts = 0;
        spec.steps = 0;
        return spec;
    }
    [[nodiscard]] RunView view() const {
        RunView result;
        for (auto const& record : journal()) fold(result, record);
        return result;
    }
};

TEST_F(E2eExec, StepsComeThroughTheDescriptor) {
    EXPECT_EQ(run_to_end(shell("for i in 0 1 2 3 4; do "
                               "echo \"step=$i time_s=0.25 loss=$((RANK + 1)) samples=2\" "
                               ">&$OSORA_STEP_FD; done; echo step 9 loss 9 time_s=9")),
              0)
        << errors();
    int steps = 0;
    for (auto const& each : events<MergedSteps>()) {
        EXPECT_TRUE(each.columns.contains("loss"));
        EXPECT_FALSE(each.columns.contains("data_wait_s")) << "nobody gave it";
        for (std::size_t i = 0; i < each.bucket.size(); ++i, ++steps) {
            EXPECT_EQ(each.columns.at("step_time_s").max[i], 0.25);
        }
    }
    EXPECT_GE(steps, 5);  // the ranks are not synchronised: each may report a separate row
    EXPECT_EQ(view().steps_done, 5) << "the line of output is not looked at";
    EXPECT_EQ(view().step_time_s, 0.25);
}

TEST_F(E2eExec, StepsAreFoundInTheOutputOfOneRank) {
    EXPECT_EQ(run_to_end(shell("[ $RANK = 0 ] || exit 0; for i in 0 10 20 30; do "
                               "echo \"iter $i: loss 0.5, time 125.00ms\"; done")),
              0)
        << errors();
    EXPECT_EQ(view().steps_done, 31);
    EXPECT_EQ(view().step_time_s, 0.125);
    EXPECT_EQ(view().last_loss, 0.5);
}

TEST_F(E2eExec, StepsAreFoundByTheUsersPattern) {
    RunSpec spec = shell("echo 'Schritt 7 dauerte 40 ms'; echo 'step 8 loss 3'");
    spec.step_pattern = R"(Schritt (?<step>\d+) dauerte (?<time_ms>\d+) ms)";
    EXPECT_EQ(run_to_end(spec), 0) << errors();
    EXPECT_EQ(view().steps_done, 8);
    EXPECT_EQ(view().step_time_s, 0.04);
}

TEST_F(E2eExec, TheFirstFailureIsTheCauseInItsOwnWords) {
    EXPECT_EQ(run_to_end(shell("if [ $RANK = 1 ]; then echo 'ValueError: 3 is not 4' >&2; exit 1; "
                               "fi; exec sleep 1000")),
              1);
    EXPECT_EQ(last<RunEnded>().cause, "rank 1 on node 0 exited with 1: ValueError: 3 is not 4");
    EXPECT_EQ(last<RunEnded>().verdict, Verdict::app_bug);
    EXPECT_TRUE(all_gone(0));
}

TEST_F(E2eExec, AnOccupiedPortIsRetriedAndCostsNoRestart) {
    if (::access("/usr/bin/python3", X_OK) != 0) GTEST_SKIP() << "no python3";
    RunSpec spec = shell("");
    spec.command = {"/usr/bin/python3", "-c",
                    "import os, socket\n"
                    "where = (os.environ['MASTER_ADDR'], int(os.environ['MASTER_PORT']))\n"
                    "if os.environ['RANK'] == '0':\n"
                    "    if os.environ['OSORA_ATTEMPT'] == '0':\n"
                    "        thief = socket.socket()\n"
                    "        thief.bind(where)\n"
                    "        thief.listen()\n"
                    "    store = socket.socket()\n"
                    "    store.bind(where)\n"};
    EXPECT_EQ(run_to_end(spec), 0) << errors();
    auto const launches = events<LaunchOrdered>();
    ASSERT_EQ(launches.size(), 2u);
    EXPECT_NE(launches[0].store_port, launches[1].store_port);
    EXPECT_THAT(events<RankFailed>().at(0).message, HasSubstr("Address already in use"));
    EXPECT_EQ(view().status.restarts, 0);
}

TEST_F(E2eExec, SilenceIsAHangWhenTheUserSaysHowLong) {
    RunSpec spec = shell("echo step=1 time_s=0.1 >&$OSORA_STEP_FD; exec sleep 1000");
    spec.step_timeout_s = 1;
    EXPECT_EQ(run_to_end(spec), 1);
    EXPECT_EQ(last<RunEnded>().verdict, Verdict::no_progress);
    EXPECT_TRUE(all_gone(0));
}

TEST_F(E2eExec, AnEnvironmentThatIsTooLargeIsNamed) {
    RunSpec spec = shell("true");
    for (int i = 0; i < 5; ++i) spec.env[fmt::format("BIG{}", i)] = std::string(120'000, 'x');
    EXPECT_EQ(run_to_end(spec), 1);
    EXPECT_THAT(last<RunEnded>().cause, HasSubstr("osora passes at most 512 KiB"));
}

}  // namespace
}  // namespace osora::e2e
