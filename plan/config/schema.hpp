// The one table behind the run file: every key with its sentence, unit, range and example.
// Validation, the comments of `osora init`, `osora config show` and the reference page read it.
// Kinds and defaults are not repeated here: they come from the members of RunConfig.
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

/// What this version of osora makes of a key that is set to something else than its default.
enum class Support {
    full,
    none_harmless,  // training is the same without it: said once
    none            // refused at submit: training would not be what was asked for
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
    bool above_min = false;         // `min` itself is not valid
    bool in_template = false;       // `osora init` writes it as a live line
    std::string_view example = {};  // TOML, where the default says little
    std::string_view auto_word = "auto";  // for AutoOr members
    std::string_view member = {};         // of the struct, where it is not called as the key
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
