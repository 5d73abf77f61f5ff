// Short ways to resolve a run file in a test.
#pragma once

#include "plan/config/run_file.hpp"

#include <string>
#include <vector>

namespace osora::plan {

/// A run file that has no problem; tests append to it.
inline constexpr char const* kMinimal =
    "[data]\nmanifest = \"clips.csv\"\n[[bucket]]\nresolution = \"64\"\nnum_frames = 8\n";

inline ResolvedConfig resolve(std::string text, std::vector<std::string> const& sets = {}) {
    return resolve_config({{Layer::run, "run.toml", std::move(text)}}, sets);
}

inline std::vector<std::string> texts(std::vector<ConfigProblem> const& problems) {
    std::vector<std::string> lines;
    for (auto const& each : problems) lines.push_back(to_text(each));
    return lines;
}

/// Problems of a minimal run file with `line` before it (so it is at line 1).
inline std::vector<std::string> problems_of(std::string const& line) {
    return texts(resolve(line + "\n" + kMinimal).problems);
}

inline std::vector<std::string> problems_of_set(std::string const& set) {
    return texts(resolve(kMinimal, {set}).problems);
}

}  // namespace osora::plan
