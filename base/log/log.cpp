// The rate limit and the two line formats. Pure except for the sink.
#include "base/log/log.hpp"

#include "base/text/printable.hpp"
#include "base/text/utf8.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <boost/json.hpp>

#include <algorithm>
#include <array>
#include <chrono>

namespace osora {
namespace {

std::string format_time(std::int64_t wall_us) {
    auto const seconds = static_cast<std::time_t>(wall_us / 1'000'000);
    auto const milliseconds = wall_us / 1000 % 1000;
    return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(seconds), milliseconds);
}

std::string escaped(std::string_view hidden) {
    if (hidden == "\n") return "\\n";
    if (hidden == "\t") return "\\t";
    std::string bytes;
    for (char const each : hidden) {
        bytes += fmt::format("\\x{:02x}", static_cast<unsigned char>(each));
    }
    return bytes;
}

/// Hidden characters and stray bytes as \n, \t, \xNN; everything else unchanged.
std::string with_escapes(std::string_view text) {
    std::string result;
    while (!text.empty()) {
        auto const code = first_code_point(text);
        auto const piece = text.substr(0, std::max<std::size_t>(code.bytes, 1));
        result += code.bytes == 0 || hides_text(code.value) ? escaped(piece) : std::string(piece);
        text.remove_prefix(piece.size());
    }
    return result;
}

std::string quoted_if_needed(std::string_view text) {
    bool const plain = !text.empty() && std::ranges::none_of(text, [](char byte) {
        return static_cast<unsigned char>(byte) <= ' ' || byte == '"' || byte == '=' ||
               byte == '\\' || byte == 0x7f;
    });
    if (plain) return with_escapes(text);
    std::string doubled;
    for (char const byte : text) {
        if (byte == '"' || byte == '\\') doubled += '\\';
        doubled += byte;
    }
    return '"' + with_escapes(doubled) + '"';
}

}  // namespace

std::string_view to_string(LogLevel level) {
    constexpr std::array<std::string_view, 4> kNames{"debug", "info", "warning", "error"};
    return kNames[static_cast<std::size_t>(level)];
}

LogField::LogField(std::string_view name, double number)
    : key(name), value(fmt::format("{:.6g}", number)) {}

std::string format_logfmt(LogEntry const& entry) {
    std::string line = fmt::format("{} {} {}", format_time(entry.wall_us), to_string(entry.level),
                                   quoted_if_needed(entry.message));
    for (LogField const& field : entry.fields) {
        line += fmt::format(" {}={}", field.key, quoted_if_needed(field.value));
    }
    return line;
}

std::string format_json(LogEntry const& entry) {
    boost::json::object line{{"time", format_time(entry.wall_us)},
                             {"level", to_string(entry.level)},
                             {"message", with_escapes(entry.message)}};
    for (LogField const& field : entry.fields) line[field.key] = with_escapes(field.value);
    return boost::json::serialize(line);
}

Logger::Logger(LogSink& sink, Env const& env, LogLimits limits)
    : sink_(sink),
      env_(env),
      limits_(limits),
      allowance_lines_(limits.burst_lines),
      refilled_(env.now()) {}

bool Logger::take_allowance() {
    auto const now = env_.now();
    double const waited_s = std::chrono::duration<double>(now - refilled_).count();
    refilled_ = now;
    allowance_lines_ =
        std::min<double>(limits_.burst_lines, allowance_lines_ + waited_s * limits_.lines_per_s);
    if (allowance_lines_ < 1) return false;
    allowance_lines_ -= 1;
    return true;
}

void Logger::log(LogLevel level, std::string_view message, Fields fields) {
    if (level < limits_.level) return;
    if (!take_allowance()) {
        ++dropped_lines_;
        return;
    }
    if (dropped_lines_ > 0) {
        sink_.write({LogLevel::warning,
                     env_.wall_us(),
                     "log lines dropped",
                     {LogField("count", dropped_lines_)}});
        dropped_lines_ = 0;
    }
    sink_.write({level, env_.wall_us(), std::string(message), fields});
}

void Logger::debug(std::string_view message, Fields fields) {
    log(LogLevel::debug, message, fields);
}
void Logger::info(std::string_view message, Fields fields) {
    log(LogLevel::info, message, fields);
}
void Logger::warning(std::string_view message, Fields fields) {
    log(LogLevel::warning, message, fields);
}
void Logger::error(std::string_view message, Fields fields) {
    log(LogLevel::error, message, fields);
}

}  // namespace osora
