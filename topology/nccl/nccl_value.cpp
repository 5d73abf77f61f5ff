// One checker for each kind of value.
#include "topology/nccl/nccl_value.hpp"

#include "base/text/nearest.hpp"
#include "base/text/printable.hpp"
#include "base/text/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <utility>
#include <vector>

namespace osora::topology {
namespace {

using Problem = std::optional<ValueProblem>;

constexpr std::string_view kFunctions =
    "broadcast|reduce|allgather|reducescatter|allreduce|sendrecv";
constexpr std::string_view kLevels = "LOC|NVL|NVB|PIX|PXB|PXN|P2C|PHB|SYS|PORT|C2C";
constexpr int kPerFunctionSince = 22400;

std::string quoted(std::string_view text) {
    return "'" + shown_value(text) + "'";
}

std::string listed(std::string_view words) {
    std::string text(words);
    std::ranges::replace(text, '|', ' ');
    return text;
}

bool is_word(std::string_view value, std::string_view words, bool any_case) {
    auto const wanted = any_case ? lower(value) : std::string(value);
    return std::ranges::any_of(split(words, '|'), [&](std::string_view each) {
        return wanted == (any_case ? lower(each) : std::string(each));
    });
}

Problem check_word(std::string_view value, std::string_view words, bool any_case) {
    if (is_word(value, words, any_case)) return std::nullopt;
    auto const near = nearest_name(value, split(words, '|'));
    return ValueProblem{quoted(value) + " is not one of " + listed(words),
                        near ? std::string(*near) : std::string()};
}

/// The problem of a part of `value`, with a corrected whole value.
Problem within(std::string_view value, std::string_view part, Problem problem) {
    if (!problem || problem->nearest.empty()) return problem;
    auto const at = static_cast<std::size_t>(part.data() - value.data());
    problem->nearest = std::string(value).replace(at, part.size(), problem->nearest);
    return problem;
}

Problem check_integer(std::string_view value, ValueRule const& rule) {
    std::string const text(value);
    char* end = nullptr;
    errno = 0;
    std::int64_t const number = std::strtoll(text.c_str(), &end, 0);
    bool const whole = end == text.c_str() + text.size() && end != text.c_str() && errno == 0;
    auto const limits = [&rule] {
        bool const open = rule.max == std::numeric_limits<std::int64_t>::max();
        return open ? fmt::format("a whole number from {}", rule.min)
                    : fmt::format("a whole number in {}..{}", rule.min, rule.max);
    };
    auto const nearest = std::to_string(std::clamp(number, rule.min, rule.max));
    if (errno == ERANGE) return ValueProblem{"must be " + limits(), nearest};
    if (!whole) {
        bool const some = end != text.c_str();
        return ValueProblem{
            fmt::format("must be {}; NCCL would read {} as {}", limits(), quoted(value), number),
            some ? nearest : std::string()};
    }
    if (number >= rule.min && number <= rule.max) return std::nullopt;
    return ValueProblem{"must be " + limits(), nearest};
}

Problem check_real(std::string_view value) {
    std::string const text(value);
    char* end = nullptr;
    double const number = std::strtod(text.c_str(), &end);
    bool const whole = end == text.c_str() + text.size();
    if (whole && std::isfinite(number) && number > 0) return std::nullopt;
    return ValueProblem{"must be a number above 0", "1"};
}

/// "[^][=]a,b": the part after the signs.
std::string_view without_signs(std::string_view value) {
    if (value.starts_with('^')) value.remove_prefix(1);
    if (value.starts_with('=')) value.remove_prefix(1);
    return value;
}

Problem check_name(std::string_view name, std::size_t bytes_max, std::string_view what) {
    if (name.empty()) return ValueProblem{fmt::format("an empty name of {}", what), ""};
    if (name.find_first_of(" \t/\"'=^") != std::string_view::npos) {
        return ValueProblem{fmt::format("{} is no name of {}", quoted(name), what), ""};
    }
    if (name.size() > bytes_max) {
        return ValueProblem{
            fmt::format("{} is longer than the {} bytes of {}", quoted(name), bytes_max, what), ""};
    }
    return std::nullopt;
}

Problem check_interfaces(std::string_view value, bool signs) {
    constexpr std::size_t kNameMax = 15;  // IFNAMSIZ without its zero
    for (std::string_view const each : split(signs ? without_signs(value) : value, ',')) {
        if (auto problem = check_name(each, kNameMax, "an interface")) return problem;
    }
    return std::nullopt;
}

Problem check_hcas(std::string_view value) {
    constexpr std::size_t kDevicesMax = 32, kFieldsMax = 4, kNameMax = 63;
    auto const entries = split(without_signs(value), ',');
    if (entries.size() > kDevicesMax) {
        return ValueProblem{fmt::format("{} devices, NCCL takes {}", entries.size(), kDevicesMax),
                            ""};
    }
    for (std::string_view const entry : entries) {
        auto const fields = split(entry, ':');
        if (auto problem = check_name(fields[0], kNameMax, "an RDMA device")) return problem;
        bool const digits = std::all_of(fields.begin() + 1, fields.end(), [](auto field) {
            return field.find_first_not_of("0123456789") == std::string_view::npos;
        });
        if (fields.size() > kFieldsMax || !digits) {
            return within(value, entry,
                          ValueProblem{quoted(entry) + " is not DEVICE[:PORT[:RAIL[:PLANE]]]",
                                       std::string(fields[0])});
        }
    }
    return std::nullopt;
}

/// "a,b" or "^a,b", a part of `value`.
Problem check_word_list(std::string_view value, std::string_view list, ValueRule const& rule) {
    if (list.starts_with('^')) list.remove_prefix(1);
    for (std::string_view const each : split(list, ',')) {
        auto problem = check_word(each, rule.words, rule.any_case);
        if (problem) return within(value, each, std::move(problem));
    }
    return std::nullopt;
}

Problem check_per_function(std::string_view value, ValueRule const& rule, int version) {
    if (version > 0 && version < kPerFunctionSince) {
        if (value.find_first_of(":;") == std::string_view::npos) {
            return check_word_list(value, value, rule);
        }
        return ValueProblem{"a list for each collective needs NCCL 2.24", ""};
    }
    bool first = true;
    for (std::string_view entry : split(value, ';')) {
        std::size_t const colon = entry.find(':');
        if (colon == std::string_view::npos && !first) {
            return ValueProblem{quoted(entry) + " names no collective; write allreduce:ring", ""};
        }
        if (colon != std::string_view::npos) {
            auto const function = entry.substr(0, colon);
            auto problem = check_word(function, kFunctions, true);
            if (problem) return within(value, function, std::move(problem));
            entry.remove_prefix(colon + 1);
        }
        if (auto problem = check_word_list(value, entry, rule)) return problem;
        first = false;
    }
    return std::nullopt;
}

Problem check_level(std::string_view value) {
    if (value.find_first_not_of("0123456789") == std::string_view::npos && value.size() <= 3) {
        return std::nullopt;
    }
    return check_word(value, kLevels, false);
}

Problem check_rule(ValueRule const& rule, std::string_view value, int version) {
    if (auto problem = check_text(value)) return problem;
    if (value.empty()) return std::nullopt;
    switch (rule.kind) {
        case ValueKind::integer:
            return check_integer(value, rule);
        case ValueKind::real:
            return check_real(value);
        case ValueKind::word:
            return check_word(value, rule.words, rule.any_case);
        case ValueKind::word_list:
            return check_word_list(value, value, rule);
        case ValueKind::per_function:
            return check_per_function(value, rule, version);
        case ValueKind::interfaces:
            return check_interfaces(value, true);
        case ValueKind::names:
            return check_interfaces(value, false);
        case ValueKind::hcas:
            return check_hcas(value);
        case ValueKind::level:
            return check_level(value);
        case ValueKind::text:
            break;
    }
    return std::nullopt;
}

}  // namespace

Problem check_text(std::string_view value) {
    constexpr std::size_t kBytesMax = 4095;
    if (value.size() > kBytesMax) {
        return ValueProblem{fmt::format("{} bytes, limit {}", value.size(), kBytesMax), ""};
    }
    auto const odd = std::ranges::find_if(
        value, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
    if (odd == value.end()) return std::nullopt;
    auto const at = odd - value.begin();
    return ValueProblem{fmt::format("byte {} is a control byte ({:#04x})", at + 1,
                                    static_cast<unsigned>(static_cast<unsigned char>(*odd))),
                        std::string(value.substr(0, static_cast<std::size_t>(at)))};
}

std::string shown_value(std::string_view value) {
    constexpr std::size_t kShown = 60;
    std::string const text = printable(value.substr(0, kShown));
    return value.size() > kShown ? text + "..." : text;
}

Problem check_value(NcclVariable const& variable, std::string_view value, int version) {
    auto problem = check_rule(variable.rule, value, version);
    if (problem && !problem->nearest.empty() &&
        check_rule(variable.rule, problem->nearest, version)) {
        problem->nearest.clear();  // something else is wrong, too
    }
    return problem;
}

}  // namespace osora::topology
