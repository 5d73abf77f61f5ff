// Where log lines go: stderr, a file, memory, or several of them. A sink that cannot write (a full
// disk) drops the line and counts it; logging never stops a run.
#pragma once

#include "base/log/log.hpp"
#include "base/result.hpp"

#include <filesystem>
#include <memory>
#include <utility>
#include <vector>

namespace osora {

enum class LogFormat { logfmt, json };

/// Entries below `level` are left out.
[[nodiscard]] std::unique_ptr<LogSink> make_stderr_sink(LogFormat format,
                                                        LogLevel level = LogLevel::debug);

/// Appends to `path`, flushed after each line; an error when it cannot be opened.
[[nodiscard]] Result<std::unique_ptr<LogSink>> make_file_sink(std::filesystem::path const& path,
                                                              LogFormat format);

/// Passes every entry to each of `sinks`.
class TeeSink final : public LogSink {
public:
    explicit TeeSink(std::vector<std::unique_ptr<LogSink>> sinks) : sinks_(std::move(sinks)) {}
    void write(LogEntry const& entry) override {
        for (auto const& sink : sinks_) sink->write(entry);
    }

private:
    std::vector<std::unique_ptr<LogSink>> sinks_;
};

/// For tests.
class MemorySink final : public LogSink {
public:
    void write(LogEntry const& entry) override { entries.push_back(entry); }
    std::vector<LogEntry> entries;
};

}  // namespace osora
