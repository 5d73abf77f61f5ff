// The items in which two runs differ, by kind: possible reasons why one is slower. Pure.
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

/// In the order of the kinds above, then by key. Items that differ for every launch are left out
/// (is_of_launch).
[[nodiscard]] std::vector<Difference> differences(RunHistory const& a, RunHistory const& b);

/// Whether the item belongs to a launch (name, place where it was typed, time limit, rendezvous,
/// logs, notifications): it differs between any two runs and makes no step slower. In values the
/// run's own folder, name and uuid count as equal.
[[nodiscard]] bool is_of_launch(std::string_view key);

}  // namespace osora::db::analysis
