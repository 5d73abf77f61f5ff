// Members of a JSON object with their ranges; errors name the path and the nearest valid value.
#pragma once

#include "base/result.hpp"

#include <boost/json.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace osora::plan {

/// Reads one object; keeps the first error, after which reads return defaults.
class RowReader {
public:
    /// `path`: "layout". Both must outlive the reader.
    RowReader(boost::json::object const& from, std::string_view path) : from_(from), path_(path) {}

    /// A whole number in [min, max]; 8.0 is one. Required if there is no `otherwise`.
    std::int64_t whole(std::string_view key, std::int64_t min, std::int64_t max);
    std::int64_t whole_or(std::string_view key, std::int64_t min, std::int64_t max,
                          std::int64_t otherwise);
    double real(std::string_view key, double min, double max);
    std::string text(std::string_view key);
    std::string text_or(std::string_view key, std::string_view otherwise);
    /// One of `choices`.
    std::string choice(std::string_view key, std::span<std::string_view const> choices);
    bool flag(std::string_view key);
    bool flag_or(std::string_view key, bool otherwise);
    /// An object; empty if it is missing and optional.
    boost::json::object object(std::string_view key, bool required);

    [[nodiscard]] bool has(std::string_view key);
    [[nodiscard]] boost::json::value const* find(std::string_view key);
    void refuse(std::string_view key, std::string_view why);
    [[nodiscard]] Result<void> result() const;
    /// Members that nothing has asked for, in their order, with a known name that is not there and
    /// may be meant: "layout.lora_ranks; did you mean lora_rank?".
    [[nodiscard]] std::vector<std::string> unread() const;

private:
    boost::json::value const* needed(std::string_view key);

    boost::json::object const& from_;
    std::string path_;
    std::string error_;
    std::vector<std::string_view> asked_;  // names in the code
};

/// A value for an error message: JSON, cut at 40 bytes.
[[nodiscard]] std::string shown(boost::json::value const& value);

}  // namespace osora::plan
