// The file is the worker's JSON; a damaged file is reported and not used.
#include "cli/plan/plan_calibration.hpp"

#include "base/files/files.hpp"
#include "protocol/json.hpp"

#include <utility>

namespace osora::cli {
namespace {

constexpr std::int64_t kCalibrationBytesMax = 1 << 20;

}  // namespace

Result<plan::Calibration> parse_calibration(std::string_view text) {
    auto read = protocol::decode<plan::Calibration>(text);
    if (read.has_error()) return std::move(read).error().in("calibration");
    OSORA_TRY_VOID(plan::check_calibration(*read));
    return read;
}

Result<std::optional<plan::Calibration>> load_calibration(std::filesystem::path const& path) {
    auto const text = read_file(path, kCalibrationBytesMax);
    if (text.has_error()) {
        if (text.error().code == Errc::not_found) return std::optional<plan::Calibration>();
        return text.error();
    }
    auto read = parse_calibration(*text);
    if (read.has_error()) return std::move(read).error().in(path.string());
    return std::optional(std::move(*read));
}

Result<void> save_calibration(std::filesystem::path const& path,
                              plan::Calibration const& calibration) {
    return write_file_atomic(path, protocol::encode(calibration) + "\n");
}

plan::Calibration calibration_or_nominal(std::filesystem::path const& path, bool has_gpus,
                                         std::string* warning) {
    plan::Calibration nominal = has_gpus ? plan::nominal_gpu() : plan::nominal_cpu();
    auto loaded = load_calibration(path);
    if (loaded.has_error()) {
        *warning = loaded.error().message + "; nominal constants are used";
        return nominal;
    }
    if (!*loaded) return nominal;
    if ((*loaded)->device != nominal.device) {
        *warning =
            path.string() + ": measured on a " + (*loaded)->device + "; nominal constants are used";
        return nominal;
    }
    return std::move(**loaded);
}

}  // namespace osora::cli
