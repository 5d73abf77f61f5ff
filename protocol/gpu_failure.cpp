#include "protocol/gpu_failure.hpp"

#include "base/text/text.hpp"
#include "protocol/journal/run_events.hpp"

#include <algorithm>
#include <array>

namespace osora::protocol {
namespace {

struct Row {
    std::string_view text;  // lower case
    GpuFailureFound found;
};

using enum GpuFailure;

constexpr std::array kRows{
    Row{"uncorrectable ecc error", {hardware, "uncorrectable ECC error encountered"}},
    Row{"cuda_error_ecc_uncorrectable", {hardware, "uncorrectable ECC error encountered"}},
    Row{"uncorrectable nvlink error", {hardware, "uncorrectable NVLink error"}},
    Row{"cuda_error_nvlink_uncorrectable", {hardware, "uncorrectable NVLink error"}},
    Row{"over nvlink or a hardware error", {hardware, "error of an NVLink peer or of hardware"}},
    Row{"hardware stack error", {hardware, "hardware stack error"}},
    Row{"system not yet initialized", {hardware, "NVSwitch fabric not initialized"}},
    Row{"fallen off the bus", {hardware, "GPU has fallen off the bus"}},
    Row{"gpu is lost", {hardware, "GPU is lost"}},
    Row{"unspecified launch failure", {crash, "unspecified launch failure"}},
    Row{"illegal memory access", {crash, "illegal memory access"}},
    Row{"illegal instruction", {crash, "illegal instruction"}},
    Row{"misaligned address", {crash, "misaligned address"}},
    Row{"invalid program counter", {crash, "invalid program counter"}},
    Row{"launch timed out", {crash, "launch timed out"}},
    Row{"is/are busy or unavailable", {crash, "GPU busy or unavailable"}},
    Row{"cuda error: unknown error", {crash, "unknown error"}},
    Row{"cudnn_status_execution_failed", {crash, "cuDNN execution failed"}},
    Row{"cudnn_status_internal_error", {crash, "cuDNN internal error"}},
    Row{"cublas_status_execution_failed", {crash, "cuBLAS execution failed"}},
    Row{"cublas_status_internal_error", {crash, "cuBLAS internal error"}},
};

bool contains(std::string_view text, std::string_view part) {
    return text.find(part) != std::string_view::npos;
}

/// `line`: in lower case.
GpuFailureFound failure_of_line(std::string_view line) {
    bool const of_cuda = contains(line, "cuda") || contains(line, "cudnn") ||
                         contains(line, "cublas") || contains(line, "nvml");
    if (!of_cuda) return {};
    auto const row =
        std::ranges::find_if(kRows, [&](Row const& each) { return contains(line, each.text); });
    return row == kRows.end() ? GpuFailureFound() : row->found;
}

}  // namespace

GpuFailureFound find_gpu_failure(std::string_view text) {
    std::string const lowered = lower(text);
    std::string_view rest = lowered;
    GpuFailureFound worst;
    while (!rest.empty()) {
        std::string_view const line = rest.substr(0, rest.find('\n'));
        rest.remove_prefix(std::min(rest.size(), line.size() + 1));
        auto const found = failure_of_line(line);
        if (found.kind > worst.kind) worst = found;
    }
    return worst;
}

std::string hardware_fault_of(RankFailed const& failed) {
    for (std::string_view const text :
         {std::string_view(failed.message), std::string_view(failed.tail)}) {
        auto const found = find_gpu_failure(text);
        if (found.kind == hardware) return std::string(found.what);
    }
    return "";
}

}  // namespace osora::protocol
