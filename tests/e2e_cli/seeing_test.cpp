// What a user sees of a run: status, watch, logs and cancel, with ranks that are slow, fail or
// hang.
#include "tests/e2e_cli/cli_fixture.hpp"

#include "base/files/files.hpp"
#include "protocol/json.hpp"

#include <csignal>

namespace osora::e2e_cli {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class Seeing : public Cli {
protected:
    void write_program(std::string const& script, std::string const& more = "") {
        write("run.toml",
              "[run]\nname = \"mine\"\njob = \"exec\"\n"
              "[resources]\ngpus_per_node = 2\n[faults]\nmax_restarts = 0\n"
              "[worker]\ncommand = [\"sh\", \"-c\", '''" +
                  script + "''']\n" + more);
    }
};

TEST_F(Seeing, ASlowRankIsNamedWhileItTrainsAndAfterwards) {
    script_times();
    hold_at(40);
    write_run_file(60, "[worker]\nenv = { OSORA_MOCK_SLOW = \"1:0:20\" }\n");
    auto training = start({"submit", "run.toml"});
    ASSERT_TRUE(training.says("\nslow     rank 1 on "));
    run().release();
    auto const ended = training.wait();
    EXPECT_EQ(ended.code, 0) << ended.err;
    EXPECT_THAT(ended.out, ContainsRegex("slow     rank 1 on .* arrives [0-9.]+ ms \\([0-9]+ %\\) "
                                         "after the others, last in [0-9]+ of [0-9]+ steps\n"));
    auto const report = osora({"report", "1"});
    EXPECT_THAT(report.out, ContainsRegex("slow +rank 1 arrives [0-9.]+ ms"));
    auto const json = protocol::parse_json(osora({"report", "1", "--format", "json"}).out);
    ASSERT_TRUE(json.has_value());
    EXPECT_EQ(json->at("slow_rank").at("rank"), 1);
    EXPECT_THAT(report.out, ContainsRegex("ranks +own work of a step: rank 1 [0-9.]+ ms "
                                          "\\(\\+[0-9]+ %\\)\n"));
    EXPECT_EQ(json->at("slowest_ranks").as_array().size(), 2u);
}

TEST_F(Seeing, EvenRanksAreNotAccused) {
    script_times();
    write_run_file(25, "[worker]\nenv = { OSORA_MOCK_STEP_S = \"0.1\" }\n");
    auto const ended = osora({"submit", "run.toml"});
    EXPECT_EQ(ended.code, 0) << ended.err;
    EXPECT_THAT(ended.out, Not(HasSubstr("slow  ")));
}

TEST_F(Seeing, StatusShowsTheNodesAndWhatHasEnded) {
    write_run_file(100000);
    ASSERT_EQ(osora({"submit", "run.toml", "--detach"}).code, 0);
    auto watching = start({"watch", "1", "--json"});
    ASSERT_TRUE(watching.says("\"osora.progress/1\""));
    auto const one = osora({"status", "1"});
    EXPECT_THAT(one.out, ContainsRegex("\n node +ranks +step +ms/step +own ms +wait +memory\n"
                                       " .* +0-1 +[0-9,]+ "));
    auto const cancelled = osora({"cancel", "1"});
    EXPECT_EQ(cancelled.code, 0) << cancelled.err;
    EXPECT_THAT(cancelled.out, ContainsRegex("run 1 stopped, checkpoint [0-9,]+ · osora resume 1 "
                                             "continues · 0 processes left on 1 node\n"));
    EXPECT_TRUE(all_gone("demo-0001", 0));
    EXPECT_THAT(watching.wait().out, HasSubstr("\"nodes\":[{\"node\":0,"));
    auto const all = osora({"status"});
    EXPECT_THAT(all.out, StartsWith("no run is active; osora history lists all\n"));
    EXPECT_THAT(all.out, ContainsRegex("\n +1  demo-0001 +stopped +[0-9,]+/100,000 .* s ago\n"));
    EXPECT_THAT(osora({"status", "--ended", "0"}).out, Not(HasSubstr("demo-0001")));
}

TEST_F(Seeing, LogsBeginWithTheRankThatFailedFirst) {
    write_program(
        "echo \"rank $RANK begins\"; echo alike\n"
        "[ $RANK = 0 ] && touch \"$OSORA_RUN_DIR/begun\"\n"
        "while [ ! -e \"$OSORA_RUN_DIR/begun\" ]; do sleep 0.02; done\n"
        "[ $RANK = 1 ] && { echo 'ValueError: 3 is not 4' >&2; exit 3; }\n"
        "exec sleep 1000");
    auto const ended = osora({"submit", "run.toml"});
    EXPECT_EQ(ended.code, 1);
    EXPECT_THAT(ended.out,
                HasSubstr("failed   rank 1 on node 0 exited with 3: ValueError: 3 is not 4"));
    auto const logs = osora({"logs", "1"});
    EXPECT_THAT(logs.out, StartsWith("first to fail: rank 1 on node 0 exited with 3: ValueError: 3 "
                                     "is not 4\n"));
    EXPECT_THAT(logs.out, ContainsRegex(":1: ValueError: 3 is not 4\nall ranks of attempt 0:\n"));
    EXPECT_THAT(logs.out, HasSubstr("ranks 0-1: alike\n"));
    EXPECT_THAT(logs.out, ContainsRegex(":0: rank 0 begins\n"));
    // The journal contains the end of the log, in case the file is lost.
    std::filesystem::remove_all(run_dir("mine-0001") / "logs/0/1.log");
    EXPECT_THAT(osora({"logs", "1"}).out,
                ContainsRegex(":1: ValueError: 3 is not 4\nall ranks of attempt 0:\n"));
}

TEST_F(Seeing, LogsNameTheRanksThatHaveWrittenNothing) {
    write_program("[ $RANK = 1 ] || echo begins");
    ASSERT_EQ(osora({"submit", "run.toml"}).code, 0);
    auto const all = osora({"logs", "1"});
    EXPECT_EQ(all.code, 0);
    EXPECT_THAT(all.out, ContainsRegex("^[^\n]*:0: begins\n$"));
    auto const file = (run_dir("mine-0001") / "logs/0/1.log").string();
    EXPECT_EQ(all.err, "note: rank 1 has written nothing (" + file + ")\n");
    auto const one = osora({"logs", "1", "--rank", "1"});
    EXPECT_EQ(one.code, 0);
    EXPECT_EQ(one.out, "");
    EXPECT_EQ(one.err, all.err);
    EXPECT_EQ(osora({"logs", "1", "--rank", "0"}).err, "");
    EXPECT_EQ(osora({"logs", "1", "--json"}).err, "");
    EXPECT_EQ(osora({"logs", "1", "--follow"}).err, all.err);
}

TEST_F(Seeing, AUserProgramIsSeenLikeATrainer) {
    write_program(
        "for i in 0 1 2 3 4 5 6 7 8 9; do "
        "echo \"step $i loss 0.5 time 100 ms\"; done",
        "[train]\nsteps = 10\n");
    auto const ended = osora({"submit", "run.toml"});
    EXPECT_EQ(ended.code, 0) << ended.err;
    EXPECT_THAT(ended.out, ContainsRegex("done     10 steps in .* · loss 0.5 · 100 ms/step"));
    EXPECT_THAT(ended.out, Not(HasSubstr("data wait")));
    auto const report = osora({"report", "1"});
    EXPECT_EQ(report.code, 0) << report.err;
    EXPECT_THAT(report.out, HasSubstr("100"));
    EXPECT_THAT(osora({"status"}).out, ContainsRegex("mine-0001 +done +10/10 +100 ms"));
}

TEST_F(Seeing, AHangIsReportedWithWhoWaitsForWhom) {
    write_run_file(100,
                   "[faults]\nstep_timeout = 5\nmax_restarts = 0\n"
                   "[worker]\nenv = { OSORA_MOCK_HANG = \"1:7\" }\n");
    auto const ended = osora({"submit", "run.toml"});
    EXPECT_EQ(ended.code, 1);
    EXPECT_THAT(ended.out,
                ContainsRegex("failed   rank 1 on node 0 made no progress for [0-9]+ s in phase "
                              "'step' after step 6: it (waits in .*|sleeps); 1 rank waits for it"));
    EXPECT_THAT(osora({"logs", "1"}).err + osora({"logs", "1"}).out,
                HasSubstr("first to fail: rank 1 on node 0 made no progress"));
    EXPECT_TRUE(std::filesystem::exists(run_dir("demo-0001") / "stacks/0/1.txt"));
}

TEST_F(Seeing, CancelEndsRanksThatIgnoreSigtermAndCountsWhatIsLeft) {
    write_program("trap '' TERM; echo ready; while :; do sleep 1; done");
    ASSERT_EQ(osora({"submit", "run.toml", "--detach"}).code, 0);
    auto following = start({"logs", "1", "--follow"});
    ASSERT_TRUE(following.says(": ready"));  // one line for both ranks, or one for each
    auto const cancelled = osora({"cancel", "1", "--now"});
    EXPECT_EQ(cancelled.code, 0) << cancelled.err;
    EXPECT_THAT(cancelled.out, HasSubstr("0 processes left on 1 node"));
    EXPECT_TRUE(all_gone("mine-0001", 0));
}

}  // namespace
}  // namespace osora::e2e_cli
