// The table of the run file's keys: each with its description, unit, range and example. Validation,
// the comments of `osora init`, `osora config show` and the reference page read it. Kinds and
// defaults come from the members of RunConfig.
#pragma once

#include <limits>
#include <span>
#include <string_view>

namespace osora::plan {

enum class Shape {
    plain,
    name,      // becomes part of folder names
    duration,  // "HH:MM:SS", "D-HH:MM:SS" or ""
    path       // relative to the folder of the run file
};

/// How this version of osora handles a key that differs from its default.
enum class Support {
    full,
    none_harmless,  // no effect on training: noted once
    none            // refused at submit: training would not be as requested
};

inline constexpr double kUnbounded = std::numeric_limits<double>::infinity();

struct SchemaRow {
    std::string_view section;
    std::string_view key;
    std::string_view doc;        // one sentence
    std::string_view unit = {};  // of a number: "GiB", "steps"
    double min = -kUnbounded;    // of a number, inclusive
    double max = kUnbounded;
    std::string_view choices = {};  // "a|b|c"; empty = any
    bool or_integer = false;        // `choices`, or an integer in [min, max] kept as its digits
    bool above_min = false;         // `min` itself is invalid
    bool in_template = false;       // `osora init` writes it uncommented
    std::string_view example = {};  // TOML, if the default says little
    std::string_view auto_word = "auto";  // for AutoOr members
    std::string_view member = {};         // name in the struct, if it differs from the key
    Shape shape = Shape::plain;
    Support support = Support::full;
};

struct SectionRow {
    std::string_view name;
    std::string_view doc;
    bool in_template = false;
};

/// In the order of the run file.
[[nodiscard]] std::span<SectionRow const> schema_sections();
[[nodiscard]] std::span<SchemaRow const> schema_rows();

/// nullptr when there is no such key.
[[nodiscard]] SchemaRow const* find_row(std::string_view section, std::string_view key);
[[nodiscard]] SectionRow const* find_section(std::string_view section);

}  // namespace osora::plan
