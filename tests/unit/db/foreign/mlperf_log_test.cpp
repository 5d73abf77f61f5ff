// Logs in the form of MLPerf's training results (v5.1): srun's rank in front of each line, blocks
// between evaluations, and figures of validation steps that count from 0 again.
#include "db/foreign/mlperf_log.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace osora::db {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kStart_ms = 1'759'506'247'376;  // 2025-10-03 15:44:07 UTC

class Log {
public:
    std::string text;
    std::int64_t now_ms = kStart_ms;

    Log& line(std::string_view line) {
        text += fmt::format("{}\n", line);
        return *this;
    }
    Log& event(std::string_view key, std::string_view value = "null",
               std::string_view metadata = "\"lineno\": 1") {
        return line(
            fmt::format(" 0: :::MLLOG {{\"namespace\": \"\", \"time_ms\": {}, "
                        "\"event_type\": \"POINT_IN_TIME\", \"key\": \"{}\", \"value\": "
                        "{}, \"metadata\": {{{}}}}}",
                        now_ms, key, value, metadata));
    }
    Log& after(std::int64_t ms) {
        now_ms += ms;
        return *this;
    }
    Log& at_step(std::string_view key, int step, std::string_view value = "null") {
        return event(key, value, fmt::format("\"samples_count\": 512, \"step\": {}", step));
    }
};

Log begun() {
    Log log;
    log.line("+ echo ':::SYSJSON {\"number_of_nodes\":\"9\"}'")
        .line(
            ":::SYSJSON {\"number_of_nodes\":\"2\",\"accelerators_per_node\":\"8\","
            "\"accelerator_model_name\":\"NVIDIA B200\",\"framework\":\"PyTorch 25.09\","
            "\"system_name\":\"UNKNOWN_MLPERF_SYSTEM_NAME\",\"other_software_stack\":"
            "{\"nccl_version\":\"v2.28.3-1\",\"trt_version\":\"\"}}")
        .line("12: something else")
        .event("submission_benchmark", "\"flux1\"")
        .event("submission_org", "\"Somebody\"")
        .event("global_batch_size", "512")
        .event("opt_name", "\"adamw\"")
        .event("init_stop")
        .after(1000)
        .event("run_start");
    return log;
}

TEST(MlperfLog, StepTimesAreTheClockWithoutEvaluations) {
    auto log = begun();
    log.at_step("block_start", 0);
    log.after(6250).at_step("tracked_stats", 10, "{\"train_loss\": 1.5}");
    log.after(6200).at_step("tracked_stats", 20, "{\"train_loss\": 1.25}");
    log.after(1240).event("tracked_stats", "{\"train_step_time\": 0.6225}", "\"lineno\": 2");
    log.at_step("block_stop", 22).at_step("eval_start", 22);
    log.after(500).at_step("tracked_stats", 1, "{\"validation_step_time\": 0.5}");
    log.after(11'500).event("eval_accuracy", "0.75").at_step("eval_stop", 22);
    log.at_step("block_start", 22);
    log.after(6300).at_step("tracked_stats", 32, "{\"train_loss\": 1.0}");
    log.event("run_stop", "null", "\"step\": 32, \"status\": \"success\"");
    auto const run = read_mlperf_log(log.text);
    ASSERT_TRUE(run.has_value()) << run.error().message;
    ASSERT_EQ(run->steps.size(), 4u);
    std::vector<double> times, losses;
    for (auto const& each : run->steps) times.push_back(each.step_time_s);
    EXPECT_THAT(times, testing::Pointwise(testing::DoubleNear(1e-9), {0.625, 0.62, 0.62, 0.63}));
    EXPECT_EQ(run->steps[2].first, 20);
    EXPECT_EQ(run->steps[2].last, 22);
    EXPECT_TRUE(std::isnan(run->steps[2].loss));
    EXPECT_EQ(run->steps[3].loss, 1.0);
    ASSERT_EQ(run->evaluations.size(), 1u);
    EXPECT_EQ(run->evaluations[0].step, 22);
    EXPECT_EQ(run->evaluations[0].loss, 0.75);
    EXPECT_DOUBLE_EQ(run->evaluations[0].seconds, 12.0);
    EXPECT_EQ(run->end.verdict, protocol::Verdict::ok);
    EXPECT_EQ(run->samples_per_step, 512);
}

TEST(MlperfLog, SystemAndSettingsComeFromItsLines) {
    auto log = begun();
    log.after(100).at_step("tracked_stats", 1, "{\"train_loss\": 1}");
    auto const run = read_mlperf_log(log.text);
    ASSERT_TRUE(run.has_value()) << run.error().message;
    EXPECT_EQ(run->workload, "flux1");
    EXPECT_EQ(run->user, "Somebody");
    EXPECT_EQ(run->nodes.size(), 2u) << "the echo of the command is no system";
    EXPECT_EQ(run->ranks_per_node, 8);
    EXPECT_EQ(run->facts.at("nccl_version"), "v2.28.3-1");
    EXPECT_EQ(run->facts.at("host.accelerator_model_name"), "NVIDIA B200");
    EXPECT_FALSE(run->facts.contains("trt_version"));
    EXPECT_EQ(run->settings.at("opt_name").as_string(), "adamw");
    EXPECT_EQ(run->settings.at("global_batch_size").as_int64(), 512);
    EXPECT_FALSE(run->settings.contains("submission_org"));
    EXPECT_EQ(run->end.verdict, protocol::Verdict::controller_lost) << "no run_stop";
}

/// Llama logs the time that its own timer measured for the steps that it names.
TEST(MlperfLog, ATimeOfTheSameStepsHasPriority) {
    auto log = begun();
    log.after(20'000).at_step("tracked_stats", 32, "{\"train_step_time\": 0.45}");
    log.at_step("tracked_stats", 32, "{\"train_loss\": 7.5}");
    auto const run = read_mlperf_log(log.text);
    ASSERT_TRUE(run.has_value());
    ASSERT_EQ(run->steps.size(), 1u);
    EXPECT_EQ(run->steps[0].step_time_s, 0.45);
    EXPECT_EQ(run->steps[0].loss, 7.5);
}

TEST(MlperfLog, WithoutASystemTheRanksAreThoseThatHaveLines) {
    Log log;
    log.line("15: hello")
        .line("Note: 99")
        .line(" 7: hello")
        .event("submission_benchmark", "\"gpt3\"");
    log.event("run_start").after(100).at_step("tracked_stats", 1, "{\"train_loss\": 1}");
    auto const run = read_mlperf_log(log.text);
    ASSERT_TRUE(run.has_value()) << run.error().message;
    EXPECT_EQ(run->nodes.size(), 1u);
    EXPECT_EQ(run->ranks_per_node, 16);
    EXPECT_THAT(run->remarks, testing::Contains(HasSubstr("one node with 16 GPUs")));
}

TEST(MlperfLog, DamagedLinesAreLeftOutAndCounted) {
    auto log = begun();
    log.line(" 0: :::MLLOG {\"time_ms\": 17595").line(":::MLLOG [1]");
    log.after(100).at_step("tracked_stats", 1, "{\"train_loss\": 1}");
    log.text += ":::MLLOG {\"time_ms\": 1";
    auto const run = read_mlperf_log(log.text);
    ASSERT_TRUE(run.has_value()) << run.error().message;
    EXPECT_THAT(run->remarks,
                testing::Contains(HasSubstr("3 lines damaged and left out, line 10")));
}

TEST(MlperfLog, ALogWithoutStepsIsRefused) {
    auto const nothing = read_mlperf_log(begun().text);
    ASSERT_TRUE(nothing.has_error());
    EXPECT_THAT(nothing.error().message, HasSubstr("no step can be timed"));
    auto const other = read_mlperf_log(":::MLLOG {\"time_ms\": 1, \"key\": \"run_start\"}");
    ASSERT_TRUE(other.has_error());
    EXPECT_THAT(other.error().message, HasSubstr("submission_benchmark"));
}

/// Numbers that no run has.
TEST(MlperfLog, HostileNumbersAreLeftOut) {
    for (std::string_view const metadata :
         {"\"step\": 1e300", "\"step\": -5", "\"step\": \"many\"", "\"samples_count\": 1e300"}) {
        auto log = begun();
        log.after(100).event("tracked_stats", "{\"train_loss\": 1}", metadata);
        log.after(100).at_step("tracked_stats", 2, "{\"train_loss\": 1e400}");
        log.after(100).at_step("tracked_stats", 4, "{\"train_loss\": 1}");
        auto const run = read_mlperf_log(log.text);
        ASSERT_TRUE(run.has_value()) << metadata << run.error().message;
        EXPECT_EQ(run->steps.back().last, 4) << metadata;
    }
}

}  // namespace
}  // namespace osora::db
