// osora bisect as a user types it, between runs of mock workers whose step time is a setting, and
// which report exactly that time.
#include "protocol/json.hpp"
#include "tests/e2e_cli/cli_fixture.hpp"

#include <fmt/format.h>

#include <csignal>

namespace osora::e2e_cli {
namespace {

using testing::HasSubstr;
using testing::Not;

class Bisect : public Cli {
protected:
    void SetUp() override {
        Cli::SetUp();
        script_times();
    }
    /// Runs 1 and 2: three settings differ, and one of them is the time of a step.
    void run_both(double good_s, double bad_s) {
        for (int run : {1, 2}) {
            write_run_file(30, fmt::format("[optim]\nprecision = \"fp32\"\nlr = {}e-4\n"
                                           "[worker.env]\nOSORA_MOCK_STEP_S = \"{}\"\nA = \"{}\"\n",
                                           run, run == 1 ? good_s : bad_s, run));
            auto const ended = osora({"submit", "run.toml"});
            EXPECT_EQ(ended.code, 0) << ended.out << ended.err;
        }
    }
};

TEST_F(Bisect, ProvesWhatMadeItSlowAndKnowsItTheNextTime) {
    run_both(0.01, 0.03);
    auto const plan = osora({"bisect", "1", "2", "--dry-run"});
    EXPECT_EQ(plan.code, 0) << plan.err;
    EXPECT_THAT(plan.out, HasSubstr("3 items differ"));
    EXPECT_THAT(plan.out, HasSubstr("worker.env.OSORA_MOCK_STEP_S  0.01"));
    auto const ended = osora({"bisect", "1", "2", "--steps", "12"});
    EXPECT_EQ(ended.code, 0) << ended.out << ended.err;
    EXPECT_THAT(ended.out, HasSubstr("\nproved: worker.env.OSORA_MOCK_STEP_S = 0.03 explains "));
    EXPECT_THAT(ended.out, HasSubstr("undo: --set worker.env.OSORA_MOCK_STEP_S=0.01\n"));
    EXPECT_THAT(osora({"history"}).out, HasSubstr("demo-bisect-0003"));
    // Replayed from saved trials: no run is made.
    auto const runs = osora({"history", "--format", "csv"}).out;
    auto const again = osora({"bisect", "1", "2", "--steps", "12", "--json"});
    EXPECT_EQ(again.code, 0) << again.err;
    EXPECT_EQ(osora({"history", "--format", "csv"}).out, runs);
    auto const answer = protocol::parse_json(again.out);
    ASSERT_TRUE(answer.has_value()) << again.out;
    EXPECT_EQ(answer->at("schema"), "osora.bisect/1");
    EXPECT_EQ(answer->at("verdict"), "proved");
    ASSERT_EQ(answer->at("culprits").as_array().size(), 1u);
    auto const& culprit = answer->at("culprits").at(0);
    EXPECT_EQ(culprit.at("factor"), "worker.env.OSORA_MOCK_STEP_S");
    EXPECT_EQ(culprit.at("good"), "0.01");
    EXPECT_EQ(culprit.at("bad"), "0.03");
    EXPECT_LE(culprit.at("p").to_number<double>(), 0.05);
}

TEST_F(Bisect, TrainsWhereRehearsalsDoNotShowTheGap) {
    for (int run : {1, 2}) {
        write_run_file(30, fmt::format("[worker.env]\nOSORA_MOCK_OWN_S = \"0.0{}\"\nA = \"{}\"\n",
                                       run == 1 ? 0 : 3, run));
        EXPECT_EQ(osora({"submit", "run.toml"}).code, 0);
    }
    auto const ended = osora({"bisect", "1", "2", "--steps", "12"});
    EXPECT_EQ(ended.code, 0) << ended.out << ended.err;
    EXPECT_THAT(ended.out, HasSubstr("\nrehearsals do not show the gap"));
    EXPECT_THAT(ended.out, HasSubstr("\nrung: run of 12 steps"));
    EXPECT_THAT(ended.out, HasSubstr("\nproved: worker.env.OSORA_MOCK_OWN_S = 0.03 explains "));
}

TEST_F(Bisect, StopsTrialsOfAProgramThatWouldTrainForDays) {
    write("train.sh",
          "s=5000\nwhile [ $s -lt $(cat last) ]; do\n"
          "  echo step=$s time_s=$PACE >&$OSORA_STEP_FD\n  s=$((s+1))\n  sleep 0.01\ndone\n");
    write("last", "5030\n");
    for (int run : {1, 2}) {
        write("run.toml", fmt::format("[run]\nname = \"demo\"\njob = \"exec\"\n[resources]\n"
                                      "gpus_per_node = 1\n[worker]\ncommand = [\"sh\", "
                                      "\"train.sh\"]\nenv = {{ PACE = \"0.0{}\", A = \"{}\" }}\n",
                                      run == 1 ? 1 : 3, run));
        EXPECT_EQ(osora({"submit", "run.toml"}).code, 0);
    }
    write("last", "1000000000\n");
    auto const ended = osora({"bisect", "1", "2", "--steps", "12"});
    EXPECT_EQ(ended.code, 0) << ended.out << ended.err;
    EXPECT_THAT(ended.out, HasSubstr("\nrung: run of 12 steps"));
    EXPECT_THAT(ended.out, HasSubstr("\nproved: worker.env.PACE = 0.03 explains "));
    EXPECT_TRUE(all_gone("demo-bisect-0003"));
}

TEST_F(Bisect, GoesOnWhereItWasInterrupted) {
    run_both(0.01, 0.03);
    hold_at(5);
    auto running = start({"bisect", "1", "2", "--steps", "12"});
    for (int number = 3; number <= 6; ++number) {
        auto const name = fmt::format("demo-bisect-{:04}", number);
        ASSERT_TRUE(eventually([&] { return std::filesystem::exists(run_dir(name)); }));
        if (number < 6) run(name).release();
    }
    running.signal(SIGINT);
    auto const stopped = running.wait();
    EXPECT_EQ(stopped.code, 130) << stopped.out << stopped.err;
    remove_variable(environment_, "OSORA_MOCK_HOLD");
    auto const ended = osora({"bisect", "1", "2", "--steps", "12"});
    EXPECT_EQ(ended.code, 0) << ended.out << ended.err;
    EXPECT_THAT(ended.out, HasSubstr(" trials are known"));
    EXPECT_THAT(ended.out, HasSubstr("\nproved: "));
}

TEST_F(Bisect, RunsThatAreAlikeAreNotReproducible) {
    run_both(0.01, 0.01);
    auto const ended = osora({"bisect", "1", "2", "--json"});
    EXPECT_EQ(ended.code, 3) << ended.out << ended.err;
    EXPECT_THAT(ended.out, HasSubstr("\"verdict\":\"not_reproducible\""));
}

TEST_F(Bisect, ScalingSaysFirstWhatItWouldCost) {
    write_run_file(30);
    EXPECT_EQ(osora({"submit", "run.toml"}).code, 0);
    auto const runs = osora({"history", "--format", "csv"}).out;
    EXPECT_EQ(osora({"history", "zzz"}).out, "no run matches zzz (of 1 run)\n");
    auto const plan = osora({"bisect", "--scaling", "demo", "--nodes", "4", "--dry-run"});
    EXPECT_EQ(plan.code, 0) << plan.err;
    EXPECT_THAT(plan.out, HasSubstr("12 trials, each a rehearsal of 25 steps"));
    auto const json = protocol::parse_json(
        osora({"bisect", "--scaling", "demo", "--nodes", "4", "--dry-run", "--json"}).out);
    ASSERT_TRUE(json.has_value());
    ASSERT_EQ(json->at("sizes").as_array().size(), 3u);
    EXPECT_EQ(json->at("sizes").at(2).at("nodes"), 4);
    EXPECT_EQ(osora({"history", "--format", "csv"}).out, runs);
}

TEST_F(Bisect, SaysWhatItCannotCompare) {
    EXPECT_EQ(osora({"bisect"}).code, 2);
    EXPECT_EQ(osora({"bisect", "1", "2"}).code, 2);
    EXPECT_EQ(osora({"bisect", "1", "--scaling", "demo"}).code, 2);
    EXPECT_EQ(osora({"bisect", "--scaling", "demo"}).code, 2);
    auto const bounded = osora({"bisect", "--scaling", "demo", "--trials", "20"});
    EXPECT_EQ(bounded.code, 2);
    EXPECT_THAT(bounded.err, HasSubstr("--trials is for two runs"));
    auto const trusting = osora({"bisect", "--scaling", "demo", "--trust"});
    EXPECT_EQ(trusting.code, 2);
    EXPECT_THAT(trusting.err, HasSubstr("--trust is for two runs"));
    EXPECT_THAT(osora({"bisect", "1", "--nodes", "4"}).err, HasSubstr("--nodes is for --scaling"));
    write_run_file(30);
    EXPECT_EQ(osora({"submit", "run.toml"}).code, 0);
    auto const alone = osora({"bisect", "1"});
    EXPECT_EQ(alone.code, 2);
    EXPECT_THAT(alone.err, HasSubstr("no run before it in series demo"));
}

}  // namespace
}  // namespace osora::e2e_cli
