// Layouts that evaluate() scores in a second on one core, and lines that evaluate_line() answers.
// Exit code 1 below 100,000 layouts.
#include "plan/evaluate/evaluate.hpp"
#include "plan/evaluate/layout_rules.hpp"

#include <fmt/format.h>

#include <chrono>

namespace osora::plan {
namespace {

constexpr double kLimit = 100'000;
constexpr int kRounds = 200'000;
constexpr std::string_view kGpt =
    R"({"id":1,"model":{"kind":"gpt","layers":96,"hidden":12288,"heads":96,"seq_len":2048,)"
    R"("vocab":51200},"cluster":{"gpu":"a100-80g-sxm","nodes":128,"gpus_per_node":8,)"
    R"("nic_gbit_per_gpu":200},"layout":{"tp_size":8,"pp_size":8,"sp_size":1,"dp_size":16,)"
    R"("zero_stage":1,"micro_batch_size":1,"grad_accum_steps":48,"virtual_stages":3,)"
    R"("recompute":"full","precision":"bf16"}})";
constexpr std::string_view kArch =
    R"({"id":2,"model":{"kind":"arch","name":"stdit3-xl/2","resolution":"360p","num_frames":51,)"
    R"("encoders":true},"cluster":{"gpu":"h100-80g-sxm","nodes":128,"gpus_per_node":8,)"
    R"("nic_gbit_per_gpu":400},"layout":{"tp_size":1,"pp_size":1,"sp_size":2,"dp_size":512,)"
    R"("zero_stage":2,"micro_batch_size":2,"grad_accum_steps":1,"recompute":"full",)"
    R"("precision":"bf16"}})";

template <class Call>
double per_second(Call const& call) {
    using Clock = std::chrono::steady_clock;
    double sum = 0;
    auto const start = Clock::now();
    for (int round = 0; round < kRounds; ++round) sum += call(round);
    std::chrono::duration<double> const taken = Clock::now() - start;
    return sum > 0 ? kRounds / taken.count() : 0;
}

double measure(char const* name, std::string_view line, HardwareTable const& hardware) {
    auto const parsed = boost::json::parse(line);
    EvaluateRow row = read_row(parsed.as_object(), hardware).value();
    double const rate = per_second([&](int round) {
        row.layout.micro_batch_size = 1 + round % 8;
        return row_violations(row).empty() ? evaluate(row).step_time_s() : 0;
    });
    double const lines =
        per_second([&](int) { return static_cast<double>(evaluate_line(line, hardware).size()); });
    fmt::print("{:5} {:9.0f} layouts/s checked and scored, {:8.0f} lines/s read and answered\n",
               name, rate, lines);
    return rate;
}

int run() {
    auto const hardware = HardwareTable::built_in();
    double const gpt = measure("gpt", kGpt, hardware);
    double const arch = measure("arch", kArch, hardware);
    return gpt >= kLimit && arch >= kLimit ? 0 : 1;
}

}  // namespace
}  // namespace osora::plan

int main() {
    return osora::plan::run();
}
