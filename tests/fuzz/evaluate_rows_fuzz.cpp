// Damaged rows of osora plan evaluate: each is answered with one line of JSON, either with figures
// that are finite and above zero, or with an error. OSORA_FUZZ_ROUNDS as in the others.
#include "plan/evaluate/evaluate.hpp"
#include "tests/fuzz/mutate.hpp"
#include "tests/kit/size.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace osora::fuzz {
namespace {

int const kRounds = tests::test_size("OSORA_FUZZ_ROUNDS", 20'000);

std::string const kGpt =
    R"({"id":1,"model":{"kind":"gpt","layers":96,"hidden":12288,"heads":96,"kv_heads":8,)"
    R"("ffn_hidden":32768,"seq_len":2048,"vocab":51200},"cluster":{"gpu":"a100-80g-sxm","nodes":8,)"
    R"("gpus_per_node":8,"nic_gbit_per_gpu":200,"calibration":{"time_scale":1.1}},"layout":)"
    R"({"tp_size":8,"pp_size":8,"sp_size":1,"dp_size":1,"zero_stage":0,"micro_batch_size":1,)"
    R"("grad_accum_steps":64,"virtual_stages":3,"recompute":"full","precision":"fp16"}})";
std::string const kArch =
    R"({"id":"b","model":{"kind":"arch","name":"mmdit-11b","resolution":"256px","num_frames":129,)"
    R"("encoders":true},"cluster":{"gpu":"h200-141g-sxm","nodes":1,"gpus_per_node":8},"layout":)"
    R"({"tp_size":1,"pp_size":1,"sp_size":4,"dp_size":2,"zero_stage":2,"micro_batch_size":3,)"
    R"("grad_accum_steps":1,"recompute":46,"activation_store":"int8","precision":"bf16"}})";

TEST(Fuzz, RowsOfLayouts) {
    std::vector<std::string> const corpus{kGpt, kArch};
    auto const hardware = plan::HardwareTable::built_in();
    Mutator mutator(27);
    int answered = 0, refused = 0;
    for (int round = 0; round < kRounds; ++round) {
        auto const line = mutator.mutate(corpus);
        auto const text = plan::evaluate_line(line, hardware);
        ASSERT_EQ(text.find('\n'), std::string::npos) << line;
        boost::system::error_code error;
        auto const parsed = boost::json::parse(text, error);
        ASSERT_FALSE(error) << line << "\n" << text;
        auto const& answer = parsed.as_object();
        ASSERT_TRUE(answer.contains("id"));
        if (answer.contains("error")) {
            ASSERT_FALSE(answer.at("error").as_string().empty()) << line;
            ++refused;
            continue;
        }
        ++answered;
        for (auto const* name : {"step_time_s", "peak_memory_gib"}) {
            double const value = answer.at(name).to_number<double>();
            ASSERT_TRUE(std::isfinite(value) && value > 0) << line << "\n" << text;
        }
        for (auto const& [name, part] : answer.at("parts").as_object()) {
            ASSERT_GE(part.to_number<double>(), 0) << line << "\n" << text;
        }
    }
    EXPECT_GT(answered, kRounds / 50);
    EXPECT_GT(refused, 0);
}

}  // namespace
}  // namespace osora::fuzz
