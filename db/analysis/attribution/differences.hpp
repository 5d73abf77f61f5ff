// The items in which two runs differ, by kind: what may explain why one is slower. Pure.
#pragma once

#include "db/analysis/history.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace osora::db::analysis {

struct Difference {
    std::string kind;  // "config", "plan", "software", "env", "hardware", "nodes"
    std::string key;   // "debug.collectives", "NCCL_ALGO"
    std::string a, b;  // "": not set
    friend bool operator==(Difference const&, Difference const&) = default;
};

/// In the order of the kinds above, then by key. Items that every launch has its own of are left
/// out (is_of_launch).
[[nodiscard]] std::vector<Difference> differences(RunHistory const& a, RunHistory const& b);

/// What a launch is called, where it was typed, how long it may go on, how it meets its peers,
/// where it logs, who is told: it differs between any two runs and makes no step slower. In values
/// the run's own folder, name and uuid count as equal.
[[nodiscard]] bool is_of_launch(std::string_view key);

}  // namespace osora::db::analysis
