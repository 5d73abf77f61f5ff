// calibration.json of the state folder: this machine's measured constants, or nominal ones if it
// was never measured. Read by plan and submit, written by `osora plan calibrate`.
#pragma once

#include "base/result.hpp"
#include "plan/calibration.hpp"

#include <filesystem>
#include <optional>
#include <string_view>

namespace osora::cli {

/// The JSON of `osora-worker --calibrate`; the error names the field.
[[nodiscard]] Result<plan::Calibration> parse_calibration(std::string_view text);

/// nullopt when the file is not there.
[[nodiscard]] Result<std::optional<plan::Calibration>> load_calibration(
    std::filesystem::path const& path);
[[nodiscard]] Result<void> save_calibration(std::filesystem::path const& path,
                                            plan::Calibration const& calibration);

/// The file's constants if it exists, is valid, and was measured on this kind of device; else
/// nominal ones. Sets `warning` to why an existing file is not used.
[[nodiscard]] plan::Calibration calibration_or_nominal(std::filesystem::path const& path,
                                                       bool has_gpus, std::string* warning);

}  // namespace osora::cli
