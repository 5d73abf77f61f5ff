// Network problems that the newest probe of some hosts found, as evidence beside measured step
// times.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace osora::cli {

/// From the newest saved probe (STATE/probes, at most 7 days old) with one of `hosts`: each finding
/// with its evidence, or that there was none; without such a probe, how to run one.
[[nodiscard]] std::vector<std::string> links_beside(std::filesystem::path const& state,
                                                    std::vector<std::string> const& hosts,
                                                    std::int64_t wall_us);

}  // namespace osora::cli
