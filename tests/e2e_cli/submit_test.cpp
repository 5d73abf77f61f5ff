// Runs without faults, as a user types them.
#include "tests/e2e_cli/cli_fixture.hpp"

#include "base/files/files.hpp"
#include "protocol/json.hpp"

#include <regex>

namespace osora::e2e_cli {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class Submit : public Cli {};

TEST_F(Submit, RunsToTheEndAndSpeaksPlainlyIntoAPipe) {
    write_run_file(40);
    auto const ended = osora({"submit", "run.toml"});
    EXPECT_EQ(ended.code, 0) << ended.err;
    EXPECT_THAT(ended.out, StartsWith("run demo-0001 · train stdit3-tiny · local: 2 CPU ranks"));
    EXPECT_THAT(ended.out, HasSubstr("\nlaunch   2 ranks in "));
    EXPECT_THAT(ended.out, HasSubstr("\ndone     40 steps in "));
    EXPECT_THAT(ended.out, HasSubstr("checkpoint 40 kept · next: osora report 1\n"));
    EXPECT_THAT(ended.out, Not(HasSubstr("\x1b")));
    EXPECT_THAT(ended.out, Not(HasSubstr("\r")));
    EXPECT_TRUE(all_gone("demo-0001"));
    auto const mode = std::filesystem::status(run_dir("demo-0001")).permissions();
    EXPECT_EQ(mode, std::filesystem::perms::owner_all);
}

TEST_F(Submit, JsonLinesForScripts) {
    write_run_file(20);
    auto const ended = osora({"submit", "run.toml", "--json"});
    EXPECT_EQ(ended.code, 0) << ended.err;
    std::vector<std::string> schemas;
    protocol::json::object last;
    for (auto const& line : lines_of(ended.out)) {
        auto const value = protocol::parse_json(line);
        ASSERT_TRUE(value.has_value()) << line;
        last = value->as_object();
        schemas.emplace_back(last.at("schema").as_string());
    }
    ASSERT_GE(schemas.size(), 5u);
    EXPECT_EQ(schemas[0], "osora.plan/1");
    EXPECT_EQ(schemas[1], "osora.run/1");
    EXPECT_THAT(schemas, testing::Contains("osora.event/1"));
    EXPECT_THAT(schemas, testing::Contains("osora.progress/1"));
    EXPECT_EQ(schemas.back(), "osora.end/1");
    EXPECT_EQ(last.at("verdict"), "ok");
    EXPECT_EQ(last.at("steps_done"), 20);
}

TEST_F(Submit, DryRunStartsAndLeavesNothing) {
    write_run_file(20);
    auto const ended = osora({"submit", "run.toml", "--dry-run"});
    EXPECT_EQ(ended.code, 0) << ended.err;
    EXPECT_THAT(ended.out, HasSubstr("ranks    0-1 on "));
    EXPECT_THAT(ended.out, HasSubstr("osora-worker-mock --job RUN_DIR/job.json (RANK=0..1)"));
    EXPECT_THAT(ended.out, HasSubstr("dry run: nothing was started\n"));
    EXPECT_FALSE(std::filesystem::exists(folder_ / "state" / "runs"));
}

TEST_F(Submit, DetachedRunsAreFoundWatchedCancelledAndResumed) {
    write_run_file(300, "[worker]\nenv = { OSORA_MOCK_PRINT = \"1\" }\n");
    hold_at(25);
    auto const submitted = osora({"submit", "run.toml", "--detach"});
    ASSERT_EQ(submitted.code, 0) << submitted.err;
    EXPECT_THAT(submitted.out, HasSubstr("detached; follow it: osora watch 1"));
    auto watching = start({"watch", "demo"});
    ASSERT_TRUE(watching.says("step "));

    EXPECT_THAT(osora({"status"}).out,
                testing::ContainsRegex("    1  demo-0001 +running +[0-9]+/300"));
    auto const status = protocol::parse_json(osora({"status", "1", "--json"}).out);
    ASSERT_TRUE(status.has_value());
    EXPECT_EQ(status->at("runs").at(0).at("state"), "running");
    auto const resumed_too_early = osora({"resume", "1"});
    EXPECT_EQ(resumed_too_early.code, 2);
    EXPECT_EQ(resumed_too_early.err, "osora: run 1 is active; osora watch 1 follows it\n");
    EXPECT_THAT(osora({"logs", "1"}).out, HasSubstr("rank 0: step 0"));
    EXPECT_THAT(osora({"logs", "1", "--rank", "1"}).out, Not(HasSubstr("rank 0: ")));

    auto const cancelled = osora({"cancel", "1"});
    EXPECT_EQ(cancelled.code, 0) << cancelled.err;
    EXPECT_THAT(cancelled.out, HasSubstr("run 1 stopped, checkpoint "));
    EXPECT_THAT(cancelled.out, HasSubstr(" · 0 processes left on 1 node\n"));
    auto const watched = watching.wait();
    EXPECT_EQ(watched.code, 130);
    EXPECT_THAT(watched.out, HasSubstr("stopping after this step: osora cancel"));
    EXPECT_THAT(watched.out, HasSubstr("stopped  osora cancel · step "));
    EXPECT_TRUE(all_gone("demo-0001"));
    EXPECT_THAT(osora({"status"}).out, StartsWith("no run is active; osora history lists all\n"));
    EXPECT_THAT(osora({"cancel", "1"}).out, HasSubstr("is over already: stopped"));

    run().release();
    auto const resumed = osora({"resume", "1"});
    EXPECT_EQ(resumed.code, 0) << resumed.err;
    EXPECT_THAT(resumed.out, StartsWith("run demo-0001 · resume from checkpoint "));
    EXPECT_THAT(resumed.out, HasSubstr("done     300 steps in "));
    EXPECT_THAT(resumed.out, Not(HasSubstr("osora cancel")));  // it is outdated
    auto const again = osora({"resume", "1"});
    EXPECT_EQ(again.code, 2);
    EXPECT_THAT(again.err, HasSubstr("has ended well"));
}

TEST_F(Submit, TwoAtOnceGetTwoNumbers) {
    write_run_file(20);
    auto first = start({"submit", "run.toml"});
    auto second = start({"submit", "run.toml"});
    auto const one = first.wait();
    auto const two = second.wait();
    EXPECT_EQ(one.code, 0) << one.err;
    EXPECT_EQ(two.code, 0) << two.err;
    EXPECT_TRUE(std::filesystem::exists(run_dir("demo-0001") / "journal"));
    EXPECT_TRUE(std::filesystem::exists(run_dir("demo-0002") / "journal"));
}

TEST_F(Submit, PathsStartAtTheRunFileWhateverTheFolderIsCalled) {
    std::filesystem::create_directory(folder_ / "it's \"here\"");
    write_run_file(10);
    std::filesystem::rename(folder_ / "run.toml", folder_ / "it's \"here\"" / "my run.toml");
    auto const missing = osora({"submit", "it's \"here\"/my run.toml"});
    EXPECT_EQ(missing.code, 2);
    EXPECT_THAT(missing.err, HasSubstr("my run.toml:7: data.manifest: clips.csv: no such file "
                                       "(looked in the run file's folder)\n1 error\n"));
    std::filesystem::rename(folder_ / "clips.csv", folder_ / "it's \"here\"" / "clips.csv");
    EXPECT_EQ(osora({"submit", "it's \"here\"/my run.toml"}).code, 0);
    auto const again = osora({"submit", "--from", "1", "--set", "train.steps=5"});
    EXPECT_EQ(again.code, 0) << again.err;
    EXPECT_THAT(again.out, HasSubstr("done     5 steps"));
}

TEST_F(Submit, ExecRunsAnyCommandWithItsEnvironmentAsWritten) {
    write("run.toml",
          "[run]\nname = \"exec\"\njob = \"exec\"\n[resources]\ngpus_per_node = 2\n"
          "[worker]\ncommand = [\"sh\", \"-c\", 'echo \"$A|$WORLD_SIZE\"; echo $RANK']\n"
          "env = { A = \"line1\\nline2 'q'\" }\n");
    auto const ended = osora({"submit", "run.toml"});
    EXPECT_EQ(ended.code, 0) << ended.out << ended.err;
    auto const logs = osora({"logs", "exec"});
    EXPECT_THAT(logs.out, HasSubstr("ranks 0-1: line1\nranks 0-1: line2 'q'|2\n"));
    EXPECT_THAT(logs.out, testing::ContainsRegex(":0: 0\n"));
    EXPECT_THAT(logs.out, testing::ContainsRegex(":1: 1\n"));
}

}  // namespace
}  // namespace osora::e2e_cli
