// What follows the end of a slow run: a notice, a repeat, a bisect. Times are scripted.
#include "protocol/json.hpp"
#include "tests/e2e_cli/cli_fixture.hpp"

#include <fmt/format.h>

namespace osora::e2e_cli {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

class FollowUp : public Cli {
protected:
    void SetUp() override {
        Cli::SetUp();
        script_times();
    }
    std::string submit(std::string const& step_s, std::string const& auto_mode) {
        write_run_file(20, fmt::format("[bisect]\nauto = \"{}\"\n[worker.env]\n"
                                       "OSORA_MOCK_STEP_S = \"{}\"\n",
                                       auto_mode, step_s));
        auto const ended = osora({"submit", "run.toml"});
        EXPECT_EQ(ended.code, 0) << "the exit code is the run's: " << ended.out << ended.err;
        return ended.out;
    }
    protocol::json::value detected(int code) {
        auto const ended = osora({"detect", "demo", "--json"});
        EXPECT_EQ(ended.code, code) << ended.out << ended.err;
        return protocol::parse_json(ended.out).value().at("series").at(0);
    }
};

TEST_F(FollowUp, ASlowRunIsSuspectedRepeatedAndBisected) {
    for (int i = 0; i < 6; ++i) {
        EXPECT_THAT(submit("0.01", "suggest"), Not(HasSubstr("suspected")));
    }
    EXPECT_EQ(detected(0).at("regression"), "none");
    EXPECT_THAT(submit("0.03", "suggest"),
                AllOf(HasSubstr("\nsuspected "), HasSubstr("next      osora submit --from 7\n"),
                      ContainsRegex("then      osora bisect [3-6] 7\n"),  // the last one not slowed
                      Not(HasSubstr("repeat"))));
    EXPECT_EQ(detected(3).at("regression"), "suspected");
    EXPECT_THAT(submit("0.01", "off"), Not(HasSubstr("suspected")));
    EXPECT_EQ(detected(0).at("newest").at("state"), "dismissed");
    EXPECT_THAT(submit("0.03", "run"),
                AllOf(HasSubstr("\nsuspected "), HasSubstr("\nrepeat    run 9 once more for 20 "),
                      HasSubstr("\nconfirmed run 10 repeated it: "),
                      HasSubstr("\nbisect.auto = \"run\": osora bisect 8 9\n"),
                      HasSubstr("\nproved: worker.env.OSORA_MOCK_STEP_S = 0.03 explains ")));
    auto const group = detected(1);
    EXPECT_EQ(group.at("regression"), "confirmed");
    EXPECT_EQ(group.at("repeat"), 10);
    EXPECT_EQ(group.at("compare").at("good"), 8);
    EXPECT_EQ(group.at("compare").at("bad"), 9);
    EXPECT_THAT(osora({"report", "--series", "demo"}).out,
                HasSubstr("and so was its repeat,\nrun 10.\n"));
    EXPECT_THAT(osora({"detect"}).out, Not(HasSubstr("demo-again")));
}

TEST_F(FollowUp, AWatchOfADetachedRunReportsItToo) {
    for (int i = 0; i < 6; ++i) (void)submit("0.01", "off");
    write_run_file(20, "[worker.env]\nOSORA_MOCK_STEP_S = \"0.03\"\n");
    hold_at(10);
    EXPECT_EQ(osora({"submit", "run.toml", "--detach"}).code, 0);
    auto watching = start({"watch", "7"});
    ASSERT_TRUE(watching.says("step 10/20"));
    run("demo-0007").release();
    auto const watched = watching.wait();
    EXPECT_EQ(watched.code, 0) << watched.err;
    EXPECT_THAT(watched.out,
                AllOf(AnyOf(HasSubstr("\nsuspected "), HasSubstr("\nconfirmed ")),
                      HasSubstr("osora bisect "), HasSubstr(" 7\n"), Not(HasSubstr("repeat"))));
    auto const lines = osora({"watch", "7", "--json"}).out;
    EXPECT_THAT(lines, Not(HasSubstr("osora bisect")));
}

TEST_F(FollowUp, WhatTheBudgetDoesNotAllowIsReported) {
    for (int i = 0; i < 6; ++i) (void)submit("0.01", "off");
    write_run_file(20,
                   "[bisect]\nauto = \"run\"\nbudget_gpu_h = 0.001\n[worker.env]\n"
                   "OSORA_MOCK_STEP_S = \"0.03\"\n");
    auto const ended = osora({"submit", "run.toml"});
    EXPECT_EQ(ended.code, 0);
    EXPECT_THAT(ended.out, AllOf(HasSubstr("\nsuspected "),
                                 HasSubstr("repeat    15 steps of it cost more than "
                                           "bisect.budget_gpu_h = 0.001"),
                                 Not(HasSubstr("osora bisect 6 7\n\n"))));
}

}  // namespace
}  // namespace osora::e2e_cli
