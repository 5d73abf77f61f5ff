// Logging: code that logs gets a Logger, a LogSink decides where lines go (log_sinks.hpp). One line
// = a message that never varies + fields that do. Never fatal, and never a flood: above its rate a
// Logger drops lines and reports how many.
#pragma once

#include "base/env.hpp"

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace osora {

enum class LogLevel { debug, info, warning, error };

[[nodiscard]] std::string_view to_string(LogLevel level);

struct LogField {
    LogField(std::string_view name, std::string_view text) : key(name), value(text) {}
    LogField(std::string_view name, char const* text) : key(name), value(text) {}
    LogField(std::string_view name, bool yes) : key(name), value(yes ? "true" : "false") {}
    template <class T>
    requires(std::integral<T> && !std::same_as<T, bool>) LogField(std::string_view name, T number)
        : key(name), value(std::to_string(number)) {}
    LogField(std::string_view name, double number);

    std::string key;
    std::string value;
};

struct LogEntry {
    LogLevel level = LogLevel::info;
    std::int64_t wall_us = 0;
    std::string message;
    std::vector<LogField> fields;
};

class LogSink {
public:
    virtual ~LogSink() = default;
    virtual void write(LogEntry const& entry) = 0;
};

/// 2026-01-01T00:00:00.000Z info "agent joined" node=0 host=n1, one line; values are quoted where
/// needed, control characters and bytes that are not UTF-8 escaped.
[[nodiscard]] std::string format_logfmt(LogEntry const& entry);
/// {"time":"...","level":"info","message":"agent joined","node":"0","host":"n1"}
[[nodiscard]] std::string format_json(LogEntry const& entry);

struct LogLimits {
    LogLevel level = LogLevel::info;  // lines below it are not written
    double lines_per_s = 50;
    int burst_lines = 200;
};

/// Not thread-safe: one for each thread that logs, or one thread.
class Logger {
public:
    Logger(LogSink& sink, Env const& env, LogLimits limits = {});

    using Fields = std::initializer_list<LogField>;
    void debug(std::string_view message, Fields fields = {});
    void info(std::string_view message, Fields fields = {});
    void warning(std::string_view message, Fields fields = {});
    void error(std::string_view message, Fields fields = {});
    void log(LogLevel level, std::string_view message, Fields fields);

private:
    [[nodiscard]] bool take_allowance();

    LogSink& sink_;
    Env const& env_;
    LogLimits limits_;
    double allowance_lines_;
    MonotonicTime refilled_;
    std::int64_t dropped_lines_ = 0;
};

}  // namespace osora
