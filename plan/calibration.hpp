// Measured constants of a machine: printed by `osora-worker --calibrate`, stored in
// STATE/calibration.json, read by the step-time model. A machine without a file has nominal ones,
// and its plans say so.
#pragma once

#include "base/result.hpp"

#include <boost/describe.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace osora::plan {

/// Matrix product (rows, size) x (size, 4 size) on the device: 1024 rows in fp32 on a CPU, 16,384
/// in bf16 on a GPU.
struct MatmulRate {
    int threads = 1;  // threads of a CPU rank; 1 on a GPU
    int size = 0;     // inner dimension
    double gflops = 0;
};
/// One forward and backward pass of a real model: the formulas are scaled to match these.
struct ModelStep {
    std::string arch;        // "stdit3-tiny"
    std::string resolution;  // as in a run file
    int num_frames = 1;
    int micro_batch_size = 1;
    int threads = 1;
    double forward_backward_s = 0;
    int depth = 0;  // of a shortened model, as model.depth; 0: as in the named one
};
/// all_reduce time t(S) = a_s + b_s_per_byte S of `ranks` ranks on one node, S bytes per rank.
struct AllReduceFit {
    int ranks = 2;
    double a_s = 0;
    double b_s_per_byte = 0;
};
struct Calibration {
    std::string schema = "osora.calibration/1";
    bool measured = false;  // false: nominal values
    std::string device = "cpu";
    std::string machine;    // host name
    std::string processor;  // "AMD EPYC 7B13"
    std::string date;       // UTC, "2025-01-31T12:00:00Z"
    int cores = 0;          // threads used for the measurement
    std::vector<MatmulRate> matmul;
    double launch_floor_us = 0;        // of at::add on 16 numbers, no gradient
    double memory_bandwidth_gbps = 0;  // 1e9 bytes a second, copy of a large buffer, one rank
    AllReduceFit all_reduce;
    double decode_ms_per_megapixel = 0;  // of source pictures, one thread; 0: not measured
    std::vector<ModelStep> model_steps;
};
BOOST_DESCRIBE_STRUCT(MatmulRate, (), (threads, size, gflops))
BOOST_DESCRIBE_STRUCT(ModelStep, (),
                      (arch, resolution, num_frames, micro_batch_size, threads, forward_backward_s,
                       depth))
BOOST_DESCRIBE_STRUCT(AllReduceFit, (), (ranks, a_s, b_s_per_byte))
BOOST_DESCRIBE_STRUCT(Calibration, (),
                      (schema, measured, device, machine, processor, date, cores, matmul,
                       launch_floor_us, memory_bandwidth_gbps, all_reduce, decode_ms_per_megapixel,
                       model_steps))

/// Published or typical constants: for a server core with AVX2, or a data-centre GPU.
[[nodiscard]] Calibration nominal_cpu();
[[nodiscard]] Calibration nominal_gpu();

/// invalid_input names the first field that is missing or out of range.
[[nodiscard]] Result<void> check_calibration(Calibration const& calibration);

}  // namespace osora::plan
