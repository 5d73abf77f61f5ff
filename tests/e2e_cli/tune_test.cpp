// osora tune as a user types it; the tuned setting is the mock worker's step time, which it reports
// exactly.
#include "protocol/json.hpp"
#include "tests/e2e_cli/cli_fixture.hpp"

namespace osora::e2e_cli {
namespace {

using testing::HasSubstr;
using testing::Not;

class Tune : public Cli {
protected:
    void SetUp() override {
        Cli::SetUp();
        script_times();
    }
};

TEST_F(Tune, KeepsWhatHelpsAndRemembersIt) {
    write_run_file(40, "[worker]\nenv = { OSORA_MOCK_STEP_S = \"0.02\" }\n");
    std::string const tried = "worker.env.OSORA_MOCK_STEP_S=0.04,0.01";
    auto const ended = osora({"tune", "run.toml", "--steps", "5", "--try", tried});
    EXPECT_EQ(ended.code, 0) << ended.out << ended.err;
    EXPECT_THAT(ended.out, HasSubstr("dropped  worker.env.OSORA_MOCK_STEP_S=0.04: costs "));
    EXPECT_THAT(ended.out, HasSubstr("kept     worker.env.OSORA_MOCK_STEP_S=0.01: saves "));
    EXPECT_THAT(ended.out, HasSubstr("\n[worker.env]\nOSORA_MOCK_STEP_S = \"0.01\"\n"));
    auto const hint = osora({"submit", "run.toml", "--dry-run"});
    EXPECT_THAT(hint.err, HasSubstr("osora tune kept worker.env.OSORA_MOCK_STEP_S=0.01"));
    EXPECT_THAT(osora({"history"}).out, HasSubstr("demo-tune-0001"));
}

TEST_F(Tune, OneJsonObjectForScripts) {
    write_run_file(40);
    auto const ended = osora({"tune", "run.toml", "--steps", "5", "--trials", "2", "--json",
                              "--try", "parallel.grad_bucket_mib=10"});
    EXPECT_EQ(ended.code, 3) << "two trials judge nothing; " << ended.err;
    auto const answer = protocol::parse_json(ended.out);
    ASSERT_TRUE(answer.has_value()) << ended.out;
    EXPECT_EQ(answer->at("schema"), "osora.tune/1");
    EXPECT_EQ(answer->at("trials"), 2);
    EXPECT_TRUE(answer->at("kept").as_object().empty());
}

// The mock worker takes as long for every setting.
TEST_F(Tune, BatchesAreMeasuredFromTheSafestOn) {
    write_run_file(40);
    auto const ended =
        osora({"tune", "run.toml", "--batch", "--steps", "5", "--json", "--trials", "4"});
    ASSERT_EQ(ended.code, 0) << ended.out << ended.err;
    auto const answer = protocol::parse_json(ended.out);
    ASSERT_TRUE(answer.has_value()) << ended.out;
    auto const& points = answer->at("points").as_array();
    ASSERT_THAT(points.size(), testing::AllOf(testing::Ge(2u), testing::Le(4u)));
    EXPECT_EQ(points[0].at("settings").at("memory.recompute"), "full");
    for (auto const& point : points) {
        EXPECT_GE(point.at("expected_peak_memory_gib").to_number<double>(),
                  points[0].at("expected_peak_memory_gib").to_number<double>());
        EXPECT_EQ(point.at("settings").at("batch.global_batch_size"),
                  points[0].at("settings").at("batch.global_batch_size"));
    }
    EXPECT_THAT(osora({"history"}).out, HasSubstr("demo-tune-0002"));
}

TEST_F(Tune, SaysWhatItCannotTry) {
    write_run_file(40);
    auto const unclear = osora({"tune", "run.toml", "--try", "grad_bucket_mib"});
    EXPECT_EQ(unclear.code, 2);
    EXPECT_THAT(unclear.err, HasSubstr("--try grad_bucket_mib: no value"));
    for (auto const& [tried, problem] :
         {std::pair{"parallel.nope=1", "parallel.nope"},
          {"parallel.grad_bucket_mib=10,abc", "grad_bucket_mib = \"abc\": expected an integer"},
          {"parallel.tp_size=5,3", "parallel.tp_size = 5: "}}) {
        auto const refused = osora({"tune", "run.toml", "--steps", "5", "--try", tried});
        EXPECT_EQ(refused.code, 2) << tried << refused.err;
        EXPECT_THAT(refused.err, HasSubstr(problem));
        EXPECT_EQ(refused.out, "") << "no trial";
    }
    auto const some = osora(
        {"tune", "run.toml", "--steps", "5", "--trials", "2", "--try", "parallel.tp_size=5,1"});
    EXPECT_EQ(some.code, 3) << "two trials judge nothing; " << some.err;
    EXPECT_THAT(some.err, HasSubstr("note: --try parallel.tp_size=5 is left out"));
    EXPECT_THAT(some.out, HasSubstr("tp_size=1"));
    EXPECT_EQ(osora({"tune", "nothing.toml"}).code, 2);
    auto const both = osora({"tune", "run.toml", "--batch", "--try", "optim.lr=1"});
    EXPECT_EQ(both.code, 2);
    EXPECT_THAT(both.err, HasSubstr("--batch and --try are tuned one after the other"));
}

}  // namespace
}  // namespace osora::e2e_cli
