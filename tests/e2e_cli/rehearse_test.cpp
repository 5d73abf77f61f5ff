// osora rehearse as a user types it; the mock worker's steps replace the collectives.
#include "protocol/json.hpp"
#include "tests/e2e_cli/cli_fixture.hpp"

namespace osora::e2e_cli {
namespace {

using testing::HasSubstr;
using testing::Not;

class Rehearse : public Cli {
protected:
    void SetUp() override {
        Cli::SetUp();
        script_times();
    }
};

TEST_F(Rehearse, EndsWithTheStepAndKeepsASeparateSeries) {
    write_run_file(40);
    ASSERT_EQ(osora({"submit", "run.toml"}).code, 0);
    auto const ended = osora({"rehearse", "run.toml", "--steps", "20"});
    EXPECT_EQ(ended.code, 0) << ended.err;
    EXPECT_THAT(ended.out, HasSubstr("run demo-rehearsal-0002 · rehearse stdit3-tiny · local"));
    EXPECT_THAT(ended.out, Not(HasSubstr("loss")));
    EXPECT_THAT(ended.out, HasSubstr("\nstep     "));
    EXPECT_THAT(ended.out, HasSubstr("own work as of: "));
    EXPECT_THAT(ended.out, HasSubstr("\nexpected "));
    EXPECT_THAT(ended.out, HasSubstr(" in run 1; the rehearsal took "));
    EXPECT_THAT(ended.out, HasSubstr("\nnext     osora report 2\n"));
    auto const report = osora({"report", "2"});
    EXPECT_EQ(report.code, 0) << report.err;
    EXPECT_THAT(report.out, Not(HasSubstr("loss")));
    EXPECT_THAT(osora({"report", "--series", "demo"}).out, Not(HasSubstr("rehearse")));
}

TEST_F(Rehearse, OneJsonObjectForScripts) {
    write_run_file(40);
    // With keys that only a training run takes.
    auto const ended = osora({"rehearse", "run.toml", "--steps", "10", "--json", "--set",
                              "train.self_check=true", "--set", "tune.progressive=true"});
    EXPECT_EQ(ended.code, 0) << ended.err;
    auto const answer = protocol::parse_json(ended.out);
    ASSERT_TRUE(answer.has_value()) << ended.out;
    EXPECT_EQ(answer->at("schema"), "osora.rehearse/1");
    EXPECT_EQ(answer->at("run").at("name"), "demo-rehearsal-0001");
    EXPECT_EQ(answer->at("ranks"), 2);
    EXPECT_EQ(answer->at("steps_used"), 8);
    EXPECT_NEAR(answer->at("step_s").to_number<double>(), 0.01, 1e-6);
    EXPECT_EQ(answer->at("compute_source"), "plan");
    EXPECT_TRUE(answer->at("trained").is_null());
}

TEST_F(Rehearse, TakesLayoutsInWhichRanksShareSamples) {
    write_run_file(40);
    for (std::string const size : {"tp_size", "sp_size", "pp_size"}) {
        auto const ended = osora({"rehearse", "run.toml", "--steps", "10", "--json", "--set",
                                  "parallel." + size + "=2"});
        EXPECT_EQ(ended.code, 0) << ended.err;
        auto const plan = osora({"plan", "run.toml", "--json", "--set", "run.job=rehearse", "--set",
                                 "parallel." + size + "=2"});
        EXPECT_EQ(protocol::parse_json(plan.out)->at("chosen").at(size).to_number<int>(), 2);
    }
    auto const refused = osora({"rehearse", "run.toml", "--set", "parallel.tp_size=3"});
    EXPECT_EQ(refused.code, 2);
    EXPECT_THAT(refused.err, HasSubstr("nearest valid: 2"));
}

TEST_F(Rehearse, RefusesWhatHasNoCollectives) {
    write("exec.toml", "[run]\njob = \"exec\"\n[worker]\ncommand = [\"true\"]\n");
    auto const refused = osora({"rehearse", "exec.toml"});
    EXPECT_EQ(refused.code, 2);
    EXPECT_THAT(refused.err, HasSubstr("run.job = \"exec\": only training runs"));
    EXPECT_EQ(osora({"rehearse", "run.toml", "--steps", "0"}).code, 2);
    EXPECT_EQ(osora({"rehearse", "missing.toml"}).code, 2);
    EXPECT_FALSE(std::filesystem::exists(folder_ / "state" / "runs"));
}

}  // namespace
}  // namespace osora::e2e_cli
