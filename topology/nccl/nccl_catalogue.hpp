// The variables that NCCL, PyTorch's NCCL group and Gloo read: default, syntax, how safe they are
// to set, and which ranks must agree. From NVIDIA's user guide (env.rst, 2.30.7; later additions to
// 2.32) and threads of its tracker. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace osora::topology {

/// Who decides a value, and how.
enum class SettingClass {
    job,    // J: a job may try it and keep it if a measurement supports it
    probe,  // P: follows from facts and the probe
    site,   // S: needs to know the site: switch classes, subnet manager, images
    bisect  // B: for debugging; never to be left on
};
/// 'J', 'P', 'S', 'B'.
[[nodiscard]] char letter_of(SettingClass cls);

/// Which ranks must have the same value. A narrower scope is always fine.
enum class SettingScope { rank, node, job };

enum class ValueKind {
    integer,       // as strtoll(..., 0) reads it, in [min, max]
    real,          // > 0
    word,          // one of `words`
    word_list,     // of `words`, with commas; '^' in front excludes
    per_function,  // NCCL_ALGO, NCCL_PROTO: "ring;allreduce:tree,ring" (2.24), '^' excludes
    interfaces,    // "[^][=]eth0,eth1"
    names,         // exact names with commas, no '=' (Gloo)
    hcas,          // "[^][=]mlx5_0[:port[:rail[:plane]]],..." at most 32
    level,         // path class, or a number of the old kind
    text           // any text of one line
};

struct ValueRule {
    ValueKind kind = ValueKind::text;
    std::int64_t min = 0, max = 0;
    std::string_view words = {};  // "A|B"
    bool any_case = false;
};

/// The default of versions before this one.
struct OlderDefault {
    int before = 0;  // as NCCL counts: 22300 = 2.23.0
    std::string_view value = {};
};

struct NcclDetails {
    int since = 0, until = 0;                // versions as above; until: deprecated or removed in
    std::string_view instead = {};           // what replaced it
    std::array<OlderDefault, 2> older = {};  // the oldest first
    std::string_view threads = {};           // of github.com/NVIDIA/nccl unless named otherwise
};

struct NcclVariable {
    std::string_view name;
    SettingClass cls = SettingClass::job;
    SettingScope scope = SettingScope::job;
    ValueRule rule;
    std::string_view default_value;  // "" = unset; a word if NCCL decides: "auto"
    std::string_view reason;         // its effect, or its problems
    NcclDetails details = {};
};

/// All, by name.
[[nodiscard]] std::span<NcclVariable const> nccl_catalogue();
/// nullptr: unknown; plug-ins have variables of their own, so that is not an error.
[[nodiscard]] NcclVariable const* find_variable(std::string_view name);
/// The known name that was probably meant.
[[nodiscard]] std::optional<std::string_view> nearest_variable(std::string_view name);
/// `version` 0: the newest known.
[[nodiscard]] std::string_view default_of(NcclVariable const& variable, int version);

/// "2.21", "2.21.5", "2.21.5-1", "2.21.5+cuda12.4", "22105" -> 22105 (2.21 -> 22100); nullopt if it
/// is not a version from 2.0 on.
[[nodiscard]] std::optional<int> nccl_version_code(std::string_view text);

}  // namespace osora::topology
