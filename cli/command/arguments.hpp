// The words after a command's name, parsed by its row of the command table.
#pragma once

#include "base/result.hpp"

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace osora::cli {

struct CommandSpec;

class Arguments {
public:
    [[nodiscard]] bool has(std::string_view name) const;
    /// Value of an option ("--rank") or positional ("RUN"); nullopt when it was not given.
    [[nodiscard]] std::optional<std::string> value(std::string_view name) const;
    [[nodiscard]] std::vector<std::string> all(std::string_view name) const;
    /// The value as a number in [min, max]; invalid_input names the option.
    [[nodiscard]] Result<std::optional<int>> number(std::string_view name, int min, int max) const;
    /// The same for a real number.
    [[nodiscard]] Result<std::optional<double>> real(std::string_view name, double min,
                                                     double max) const;

    std::map<std::string, std::vector<std::string>, std::less<>> values;
};

/// Parses. invalid_input names the mistake and the likely intention: "unknown option --detatch; did
/// you mean --detach?".
[[nodiscard]] Result<Arguments> parse_arguments(CommandSpec const& command,
                                                std::span<std::string const> words);

}  // namespace osora::cli
