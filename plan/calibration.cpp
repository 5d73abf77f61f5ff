// Nominal constants, and the checks of measured ones.
#include "plan/calibration.hpp"

#include <fmt/format.h>

#include <cmath>

namespace osora::plan {
namespace {

Error bad(std::string_view field, double value, std::string_view rule) {
    return Error{Errc::invalid_input,
                 fmt::format("calibration: {} = {}: must be {}", field, value, rule)};
}

bool positive(double value) {
    return std::isfinite(value) && value > 0;
}

}  // namespace

Calibration nominal_cpu() {
    Calibration c;
    c.device = "cpu";
    c.processor = "a server core with AVX2";
    // One EPYC core with oneDNN: 43 at 64, 74 at 96, 68 at 384 wide; 87 at 1152 on another.
    c.matmul = {{1, 64, 43}, {1, 96, 65}, {1, 1152, 80}, {2, 64, 70}, {2, 96, 110}, {2, 1152, 150}};
    c.launch_floor_us = 0.75;
    c.memory_bandwidth_gbps = 10;
    c.all_reduce = {.ranks = 2, .a_s = 150e-6, .b_s_per_byte = 0.8e-9};
    c.decode_ms_per_megapixel = 6;
    return c;
}

Calibration nominal_gpu() {
    Calibration c;
    c.device = "gpu";
    c.processor = "a data-centre GPU, fp32";
    c.matmul = {{1, 96, 4000}, {1, 1152, 30000}};
    c.launch_floor_us = 6;
    c.memory_bandwidth_gbps = 1500;
    // vTrain's NVLink table: 39 us and 180 to 216 GB/s for two A100.
    c.all_reduce = {.ranks = 2, .a_s = 39e-6, .b_s_per_byte = 1 / 190e9};
    c.decode_ms_per_megapixel = 6;
    return c;
}

Result<void> check_calibration(Calibration const& c) {
    if (c.schema != "osora.calibration/1") {
        return Error{Errc::invalid_input, fmt::format("calibration: schema '{}': this version "
                                                      "reads osora.calibration/1",
                                                      c.schema)};
    }
    if (c.device != "cpu" && c.device != "gpu") {
        return Error{Errc::invalid_input,
                     fmt::format("calibration: device '{}': must be cpu or gpu", c.device)};
    }
    if (c.matmul.empty()) return Error{Errc::invalid_input, "calibration: matmul is empty"};
    for (MatmulRate const& row : c.matmul) {
        if (row.threads < 1) return bad("matmul.threads", row.threads, "at least 1");
        if (row.size < 1) return bad("matmul.size", row.size, "at least 1");
        if (!positive(row.gflops)) return bad("matmul.gflops", row.gflops, "above 0");
    }
    if (!std::isfinite(c.launch_floor_us) || c.launch_floor_us < 0) {
        return bad("launch_floor_us", c.launch_floor_us, "at least 0");
    }
    if (!positive(c.memory_bandwidth_gbps)) {
        return bad("memory_bandwidth_gbps", c.memory_bandwidth_gbps, "above 0");
    }
    if (c.all_reduce.ranks < 2) return bad("all_reduce.ranks", c.all_reduce.ranks, "at least 2");
    if (!std::isfinite(c.all_reduce.a_s) || c.all_reduce.a_s < 0) {
        return bad("all_reduce.a_s", c.all_reduce.a_s, "at least 0");
    }
    if (!std::isfinite(c.all_reduce.b_s_per_byte) || c.all_reduce.b_s_per_byte < 0) {
        return bad("all_reduce.b_s_per_byte", c.all_reduce.b_s_per_byte, "at least 0");
    }
    if (!std::isfinite(c.decode_ms_per_megapixel) || c.decode_ms_per_megapixel < 0) {
        return bad("decode_ms_per_megapixel", c.decode_ms_per_megapixel, "at least 0");
    }
    for (ModelStep const& step : c.model_steps) {
        if (step.threads < 1) return bad("model_steps.threads", step.threads, "at least 1");
        if (step.micro_batch_size < 1) {
            return bad("model_steps.micro_batch_size", step.micro_batch_size, "at least 1");
        }
        if (step.depth < 0) return bad("model_steps.depth", step.depth, "at least 0");
        if (!positive(step.forward_backward_s)) {
            return bad("model_steps.forward_backward_s", step.forward_backward_s, "above 0");
        }
    }
    return {};
}

}  // namespace osora::plan
