// Versions and their known combinations: which were released or tested together, which cannot work,
// which were slow for others. Pure.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace osora::topology::doctor {

/// Keyed by: "driver", "cuda" (that the program was built with), "nccl", "libtorch", "ofed",
/// "ffmpeg", "colossalai", "net_plugin", "kernel".
using Versions = std::map<std::string, std::string>;

/// <0, 0, >0; numeric parts compare as numbers, text after '+' or '-' is ignored: "2.9.8" <
/// "2.21.5+cuda12.4", "580" == "580".
[[nodiscard]] int compare_versions(std::string_view a, std::string_view b);
/// Whether `version` is `prefix` or below it: "2.21.5" matches "2.21", not "2.2".
[[nodiscard]] bool is_of(std::string_view version, std::string_view prefix);

/// "2.10.3" from the forms that programs print: "2.10.3+cuda11.3", "2.10.3-1", "21003", and
/// "21.0.3", as PyTorch 1.10 reads 21003. "": not a version.
[[nodiscard]] std::string nccl_version(std::string_view text);

/// Versions that were released or tested together.
struct KnownCombination {
    std::string_view source;                                    // the source
    std::string_view cuda, nccl, libtorch, colossalai, ffmpeg;  // "" = any
};
[[nodiscard]] std::span<KnownCombination const> known_combinations();

/// The combination that agrees with all of `versions` that it names, at least two; nullptr: none
/// does.
[[nodiscard]] KnownCombination const* find_combination(Versions const& versions);

/// A version that was slow or wrong for others.
struct KnownTrouble {
    std::string_view name;         // "nccl"
    std::string_view first, last;  // range of versions, both ends included
    std::string_view what;         // with figures
    std::string_view fix;
    std::string_view threads;
    std::string_view gpus = {};  // only for GPUs whose name has one of these words; "" = any
    bool many_nodes = false;     // only for runs on more than one node
    bool note = false;           // depends on unknown facts: a note, not a warning
};
[[nodiscard]] std::span<KnownTrouble const> known_troubles();

/// The oldest driver that runs programs of this CUDA, "525" for "12.4"; nullopt: unknown.
[[nodiscard]] std::optional<std::string_view> oldest_driver(std::string_view cuda);

}  // namespace osora::topology::doctor
