// Step times compared with published runs. Tolerances are for single runs; means are in
// docs/rfc/027.
#include "tests/unit/plan/evaluate/rows_kit.hpp"

namespace osora::plan {
namespace {

struct PublishedRun {
    std::string source;
    std::int64_t layers, hidden, heads, tp, pp, gpus, batch, mbs, virtual_stages;
    bool selective;  // with sequence parallel; else full recompute
    double seconds, tolerance;
};

EvaluateRow row_of(PublishedRun const& run) {
    EvaluateRow row = gpt_row(run.layers, run.hidden, run.heads, run.gpus / 8);
    row.layout.tp_size = run.tp;
    row.layout.pp_size = run.pp;
    row.layout.dp_size = run.gpus / run.tp / run.pp;
    row.layout.micro_batch_size = run.mbs;
    row.layout.grad_accum_steps = run.batch / row.layout.dp_size / run.mbs;
    row.layout.virtual_stages = run.virtual_stages;
    row.layout.recompute = run.selective ? "selective" : "full";
    row.layout.sequence_parallel = run.selective;
    return row;
}

/// Seconds of a step with full recompute from TFLOP/s of a GPU (arXiv 2104.04473, equation 3).
double seconds(double batch, double layers, double hidden, double gpus, double tflops) {
    double const shape = 1 + 2048 / (6 * hidden) + 51200 / (16 * layers * hidden);
    return 96 * batch * 2048 * layers * hidden * hidden * shape / (gpus * tflops * 1e12);
}

TEST(PublishedRuns, OfMegatronOnUpTo12288Gpus) {
    std::string const sc21 = "arXiv 2104.04473, table 1", ptd = "arXiv 2104.04473, table 2",
                      korthikanti = "arXiv 2205.05198, table 5",
                      megascale = "arXiv 2402.15627, table 2, Megatron-LM";
    for (PublishedRun const& run : std::vector<PublishedRun>{
             {sc21, 24, 2304, 24, 1, 1, 32, 512, 16, 1, false, seconds(512, 24, 2304, 32, 137),
              0.1},
             {sc21, 48, 8192, 64, 8, 2, 512, 1536, 4, 1, false, seconds(1536, 48, 8192, 512, 138),
              0.1},
             {sc21, 128, 25600, 160, 8, 64, 3072, 3072, 1, 1, false,
              seconds(3072, 128, 25600, 3072, 163), 0.1},
             {ptd, 96, 12288, 96, 8, 12, 1536, 1536, 1, 1, false,
              seconds(1536, 96, 12288, 1536, 141), 0.1},
             {korthikanti, 48, 6144, 64, 8, 1, 8, 4, 4, 1, false, 1.42, 0.1},
             {korthikanti, 48, 6144, 64, 8, 1, 8, 4, 4, 1, true, 1.10, 0.1},
             {korthikanti, 96, 12288, 96, 8, 8, 64, 64, 1, 3, false, 18.13, 0.1},
             {korthikanti, 96, 12288, 96, 8, 8, 64, 64, 1, 3, true, 13.75, 0.1},
             {megascale, 96, 12288, 96, 8, 8, 256, 768, 1, 6, true, 40.0, 0.1},
             {megascale, 96, 12288, 96, 8, 8, 12288, 6144, 1, 6, true, 8.57, 0.1}}) {
        EvaluateRow const row = row_of(run);
        ASSERT_TRUE(row_violations(row).empty()) << run.source;
        EXPECT_NEAR(evaluate(row).step_time_s() / run.seconds, 1, run.tolerance)
            << run.source << ", " << run.gpus << " GPUs";
    }
}

// mosaicml/llm-foundry, scripts/train/benchmarking/README.md: 70B, FSDP, sequences of 2048.
TEST(PublishedRuns, OfFullySharded70B) {
    for (auto const& [gpus, measured] : {std::pair{512, 16.27}, std::pair{256, 15.82}}) {
        EvaluateRow row = gpt_row(80, 8192, 64, gpus / 8);
        row.hardware = hardware().find("h100-80g-sxm").value();
        row.nic_gbit_per_gpu = 400;
        row.gpt->vocab = 50368;
        row.layout.dp_size = gpus;
        row.layout.zero_stage = 3;
        row.layout.micro_batch_size = 8;
        EXPECT_NEAR(evaluate(row).step_time_s() / measured, 1, 0.1) << gpus;
    }
}

// hpcaitech/Open-Sora, comments of configs/opensora-v1-1/train/benchmark.py (H800) and
// configs/diffusion/train/stage1.py (H200, 8 dual and all single blocks computed again).
TEST(PublishedRuns, OfVideoBucketsWithEncoders) {
    auto const seconds_of = [](std::string const& model, std::string const& gpu,
                               std::string const& again, int batch) {
        auto const answer = answer_of(
            R"({"id":1,"model":{"kind":"arch","encoders":true,)" + model +
            R"(},"cluster":{"nodes":1,"gpus_per_node":8,"gpu":")" + gpu +
            R"("},"layout":{"tp_size":1,"pp_size":1,"sp_size":1,"dp_size":8,"zero_stage":2,)" +
            R"("grad_accum_steps":1,"precision":"bf16","recompute":)" + again +
            R"(,"micro_batch_size":)" + std::to_string(batch) + "}}");
        return answer.contains("error") ? 0 : answer.at("step_time_s").to_number<double>();
    };
    auto const stdit2 = [&](std::string const& resolution, int frames, int batch) {
        return seconds_of(R"("name":"stdit2-xl/2","resolution":")" + resolution +
                              R"(","num_frames":)" + std::to_string(frames),
                          "h800-80g-sxm", "\"full\"", batch);
    };
    EXPECT_NEAR(stdit2("240p", 128, 2) / 4.28, 1, 0.12);
    EXPECT_NEAR(stdit2("240p", 16, 16) / 4.6, 1, 0.12);
    EXPECT_NEAR(stdit2("512", 1, 128) / 6.3, 1, 0.12);
    EXPECT_NEAR(stdit2("1080p", 1, 16) / 8.6, 1, 0.12);
    double const mmdit = seconds_of(R"("name":"mmdit-11b","resolution":"256px","num_frames":129)",
                                    "h200-141g-sxm", "46", 3);
    EXPECT_NEAR(mmdit / 7.48, 1, 0.12);
}

}  // namespace
}  // namespace osora::plan
