// Several runs that belong together: one after the other, and as tasks of the user's own array.
#include "tests/cluster_slurm/slurm_fixture.hpp"

#include <fmt/format.h>

#include <fstream>

namespace osora::cluster {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

class SlurmStages : public SlurmTest {
protected:
    [[nodiscard]] std::int64_t time_of_first(std::string const& name) const {
        auto const records = run(name).journal();
        return records.empty() ? 0 : records.front().wall_us;
    }
    [[nodiscard]] std::int64_t time_of_last(std::string const& name) const {
        auto const records = run(name).journal();
        return records.empty() ? 0 : records.back().wall_us;
    }
    /// Run 1 holds until this one is in the queue.
    [[nodiscard]] Ended submit_after_the_first() const {
        auto second = start({"submit", "run.toml", "--after", "1"});
        EXPECT_TRUE(second.says("submitted, starts after demo-0001\n")) << second.err();
        EXPECT_TRUE(eventually([this] { return std::filesystem::exists(run_dir()); }));
        run().release();
        return second.wait(3 * tests::kPatience_s);
    }
};

TEST_F(SlurmStages, AStageStartsWhenTheRunBeforeItHasSucceeded) {
    write_run_file({.nodes = 2, .ranks = 1, .steps = 300, .hold_at = 20});
    ASSERT_EQ(osora({"submit", "run.toml", "--detach"}).code, 0);
    write_run_file({.nodes = 2, .ranks = 1, .steps = 300});
    auto const dry = osora({"submit", "run.toml", "--after", "1", "--dry-run"});
    EXPECT_THAT(dry.out, HasSubstr("after    demo-0001: --dependency=afterok:")) << dry.err;
    auto const second = submit_after_the_first();
    EXPECT_EQ(second.code, 0) << second.out << second.err << logs("demo-0002");
    EXPECT_THAT(second.out, HasSubstr("submitted, starts after demo-0001\n"));
    EXPECT_THAT(second.out, HasSubstr("\ndone     300 steps"));
    EXPECT_GT(time_of_last("demo-0001"), 0);
    EXPECT_GT(time_of_first("demo-0002"), time_of_last("demo-0001"));
    // A run that has already succeeded needs no waiting for.
    auto const third = osora({"submit", "run.toml", "--after", "2", "--detach"});
    EXPECT_EQ(third.code, 0) << third.err;
    EXPECT_THAT(third.out, testing::Not(HasSubstr("starts after")));
}

TEST_F(SlurmStages, AStageAfterAFailureLeavesTheQueue) {
    write_run_file({.nodes = 1,
                    .ranks = 1,
                    .steps = 300,
                    .more = "[worker]\nenv = { OSORA_MOCK_FAIL = \"0:250:13\", "
                            "OSORA_MOCK_HOLD = \"20\" }\n"});
    ASSERT_EQ(osora({"submit", "run.toml", "--detach"}).code, 0);
    auto const second = submit_after_the_first();
    EXPECT_EQ(second.code, 4) << second.out << second.err;
    EXPECT_THAT(second.out + second.err, HasSubstr(" (it waited for demo-0001 to end well)"));
    EXPECT_FALSE(std::filesystem::exists(run_dir("demo-0002") / "journal"));
    auto const third = osora({"submit", "run.toml", "--after", "1"});
    EXPECT_EQ(third.code, 2) << third.out;
    EXPECT_THAT(third.err, HasSubstr("--after 1: the run ended with "));
    EXPECT_THAT(third.err, HasSubstr("; osora resume 1 continues it"));
    EXPECT_THAT(osora({"submit", "run.toml", "--after", "9"}).err, HasSubstr("--after: run 9"));
}

TEST_F(SlurmStages, TheUsersArrayTasksAreSeparateRuns) {
    write_run_file({.nodes = 1, .ranks = 2});
    std::ofstream(folder_ / "sweep.sh")
        << "#!/bin/bash\n" OSORA_BIN_DIR
           "/osora submit run.toml --set run.name=sweep$SLURM_ARRAY_TASK_ID\n";
    auto const ended = bed().run("ctl",
                                 {"sbatch", "--wait", "--array=0-3%3", "--nodes=1", "--exclusive",
                                  "--output=task%a.log", "--chdir=" + folder_.string(), "sweep.sh"},
                                 2 * tests::kPatience_s);
    EXPECT_EQ(ended.code, 0) << ended.err << content_of(folder_ / "task0.log");
    for (int task = 0; task < 4; ++task) {
        auto const log = content_of(folder_ / fmt::format("task{}.log", task));
        EXPECT_THAT(log, HasSubstr("\ndone     40 steps in ")) << task;
        EXPECT_THAT(log, HasSubstr(fmt::format("run sweep{}-000", task)));
    }
    auto const history = osora({"history"});
    for (int task = 0; task < 4; ++task) {
        EXPECT_THAT(history.out, HasSubstr(fmt::format("sweep{}-000", task))) << history.err;
    }
}

}  // namespace
}  // namespace osora::cluster
