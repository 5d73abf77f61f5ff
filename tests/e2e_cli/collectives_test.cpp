// A training run of the real worker on two ranks: the bytes of its collectives are in history.db
// and in the report, and match the model's parameters.
#include "protocol/json.hpp"
#include "tests/e2e_cli/cli_fixture.hpp"

#include <fmt/format.h>

#include <cmath>

namespace osora::e2e_cli {
namespace {

using testing::HasSubstr;

constexpr int kSteps = 12, kWarmup = 5, kRanks = 2;
constexpr int kBucketMib = 1;

class Collectives : public Cli {
protected:
    void SetUp() override {
        Cli::SetUp();
        environment_.back() = "OSORA_WORKER=" OSORA_BIN_DIR "/osora-worker";
        environment_.push_back("OMP_NUM_THREADS=1");
        SpawnOptions const ffmpeg{.program = "/usr/bin/ffmpeg",
                                  .arguments = {"-nostdin", "-v", "error", "-f", "lavfi", "-i",
                                                "testsrc2=size=64x64:rate=8:duration=2", "-pix_fmt",
                                                "yuv420p", (folder_ / "a.mp4").string()},
                                  .environment = environment_,
                                  .working_directory = folder_};
        auto made = tests::start_program(ffmpeg, folder_ / "ffmpeg");
        ASSERT_TRUE(made.has_value()) << made.error().message;
        ASSERT_EQ(made->wait().code, 0);
        write("clips.csv",
              "path,text,num_frames,height,width,aspect_ratio,resolution,fps\n"
              "a.mp4,a test,16,64,64,1,4096,8\n");
    }
    protocol::json::value report() {
        auto const reported = osora({"report", "1", "--json"});
        return protocol::parse_json(reported.out).value();
    }
    /// One figure.
    double ask(std::string const& sql) {
        auto const reported = osora({"history", "sql", sql, "--format", "csv"});
        EXPECT_EQ(reported.code, 0) << reported.err;
        auto const lines = lines_of(reported.out);
        EXPECT_EQ(lines.size(), 2u) << reported.out;
        return lines.size() == 2 ? std::stod(lines[1]) : std::nan("");
    }
    /// Number of parameters that run `name` trains, from its checkpoint.
    double trainable(std::string const& name) {
        for (auto const& each :
             std::filesystem::directory_iterator(run_dir(name) / "checkpoints")) {
            auto const state = protocol::parse_json(content_of(each.path() / "state.json"));
            if (state.has_value()) return state->at("trainable").to_number<double>();
        }
        ADD_FAILURE() << "no checkpoint";
        return std::nan("");
    }
};

TEST_F(Collectives, BytesAreThoseOfTheParameters) {
    write_run_file(kSteps, fmt::format("[parallel]\ngrad_bucket_mib = {}\n", kBucketMib));
    auto const ended = start({"submit", "run.toml"}).wait(10 * tests::kPatience_s);
    ASSERT_EQ(ended.code, 0) << ended.out << ended.err;
    double const bytes = 4 * trainable("demo-0001");
    double const calls = std::ceil(bytes / (kBucketMib * 1024 * 1024));

    std::string const gradients =
        " FROM v_collective WHERE run=1 AND class='gradients all_reduce' AND warmup=0";
    EXPECT_EQ(ask("SELECT sum(bytes)*1.0/sum(rank_steps)" + gradients), bytes);
    EXPECT_EQ(ask("SELECT sum(calls)*1.0/sum(rank_steps)" + gradients), calls);
    EXPECT_EQ(ask("SELECT sum(rank_steps)" + gradients), kRanks * (kSteps - kWarmup));
    EXPECT_EQ(ask("SELECT max(ranks)" + gradients), kRanks);
    EXPECT_EQ(ask("SELECT sum(rank_steps) FROM v_collective WHERE run=1 AND class='stop vote'"),
              kRanks * kSteps);
    // The time that a step waited for gradients is the sum that it reports.
    double const exposed_s =
        ask("SELECT sum(exposed_s) FROM v_collective WHERE run=1 AND class LIKE 'gradients %'");
    EXPECT_NEAR(exposed_s, ask("SELECT sum(exposed_comm_s*ranks) FROM v_step WHERE run=1"),
                1e-9 * kSteps + 1e-6 * exposed_s);

    auto const rows = report().at("collectives").as_array();
    ASSERT_EQ(rows.size(), 2u);
    auto const& first = rows[rows[0].at("class") == "gradients all_reduce" ? 0 : 1];
    EXPECT_EQ(first.at("bytes").to_number<double>(), bytes);
    EXPECT_EQ(first.at("calls").to_number<double>(), calls);
    EXPECT_EQ(first.at("backend"), "gloo");
    EXPECT_GT(first.at("seconds").to_number<double>(), 0);
    EXPECT_THAT(osora({"report", "1"}).out, HasSubstr("\n gradients all_reduce "));
    EXPECT_EQ(ask("SELECT count(*) FROM v_span WHERE run=1 AND name='queue'"), 1);
}

}  // namespace
}  // namespace osora::e2e_cli
