// How much of a GPU's arithmetic a run used. Private to the report commands.
#pragma once

#include "db/analysis/report/run_report.hpp"

#include <string>

namespace osora::cli {

/// Of one rank. Model FLOPs utilisation (arXiv 2204.02311): the operations of the model's forward
/// and backward passes, without those that recomputing repeats, over the GPU's dense peak.
struct Utilisation {
    double flop_per_s = db::kUnknown;
    double mfu = db::kUnknown;  // unknown on a CPU, and for a GPU without a data sheet
    std::string peak;           // "bf16 of NVIDIA H200, 989 TFLOP/s"
};
[[nodiscard]] Utilisation utilisation_of(db::analysis::RunReport const& report);

/// "137 TFLOP/s a rank · MFU 34.6 % (...) · 349,000 tokens/s"; empty: unknown.
[[nodiscard]] std::string work_line(db::analysis::RunReport const& report);

}  // namespace osora::cli
