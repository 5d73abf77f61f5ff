// What the newest probe of some hosts says is wrong with their network, as evidence beside a
// measurement of steps.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace osora::cli {

/// Of the newest kept probe (STATE/probes, at most 7 days old) that holds one of `hosts`: each
/// finding with its evidence, or that it found nothing; where there is none, how to make one.
[[nodiscard]] std::vector<std::string> links_beside(std::filesystem::path const& state,
                                                    std::vector<std::string> const& hosts,
                                                    std::int64_t wall_us);

}  // namespace osora::cli
