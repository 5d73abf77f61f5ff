#include "cli/report/work_rate.hpp"

#include "base/text/units.hpp"
#include "cli/report/report_tables.hpp"
#include "db/analysis/run_size.hpp"
#include "plan/evaluate/hardware.hpp"

#include <fmt/format.h>

#include <cmath>

namespace osora::cli {
namespace {

using namespace db::analysis;

std::string flop_text(double flop_per_s) {
    if (flop_per_s >= 1e12) return three_digits(flop_per_s / 1e12) + " TFLOP/s";
    return three_digits(flop_per_s / 1e9) + " GFLOP/s";
}

}  // namespace

Utilisation utilisation_of(RunReport const& report) {
    Utilisation found{.flop_per_s = report.work.flop_per_s / report.run.run.ranks,
                      .mfu = db::kUnknown,
                      .peak = {}};
    std::string const gpu = gpu_of(report.run.device);
    if (gpu.empty()) return found;
    auto const sheet = plan::HardwareTable::built_in().find(gpu);
    if (sheet.has_error()) return found;
    bool const fp32 = report.precision == "fp32";
    double const tflops = fp32 ? sheet->fp32_tflops : sheet->bf16_tflops;
    found.mfu = found.flop_per_s / (1e12 * tflops);
    found.peak =
        fmt::format("{} of {}, {} TFLOP/s", fp32 ? "fp32" : "bf16", gpu, three_digits(tflops));
    return found;
}

std::string work_line(RunReport const& report) {
    Utilisation const used = utilisation_of(report);
    if (std::isnan(used.flop_per_s)) return {};
    std::string line = flop_text(used.flop_per_s) + " a rank";
    if (!std::isnan(used.mfu)) {
        line += fmt::format(" · MFU {:.1f} % ({})", 100 * used.mfu, used.peak);
    }
    if (!std::isnan(report.work.tokens_per_s)) {
        auto const tokens = static_cast<std::int64_t>(std::llround(report.work.tokens_per_s));
        line += " · " + format_count(tokens) + " tokens/s";
    }
    return line;
}

}  // namespace osora::cli
