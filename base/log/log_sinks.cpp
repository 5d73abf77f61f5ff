// Sinks built on spdlog's single-threaded ones. spdlog's exceptions (a file that cannot be opened
// or written) stop here.
#include "base/log/log_sinks.hpp"

#include "base/files/files.hpp"

#include <fcntl.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>

namespace osora {
namespace {

class SpdlogSink final : public LogSink {
public:
    SpdlogSink(std::unique_ptr<spdlog::sinks::sink> sink, LogFormat format, LogLevel level)
        : sink_(std::move(sink)), format_(format), level_(level) {
        sink_->set_pattern("%v");
    }

    void write(LogEntry const& entry) override {
        if (entry.level < level_) return;
        std::string const line =
            format_ == LogFormat::json ? format_json(entry) : format_logfmt(entry);
        try {
            sink_->log({spdlog::string_view_t(), spdlog::level::info, line});
            sink_->flush();
        } catch (spdlog::spdlog_ex const&) {
            return;  // no sink is left to report to
        }
    }

private:
    std::unique_ptr<spdlog::sinks::sink> sink_;
    LogFormat format_;
    LogLevel level_;
};

}  // namespace

std::unique_ptr<LogSink> make_stderr_sink(LogFormat format, LogLevel level) {
    return std::make_unique<SpdlogSink>(std::make_unique<spdlog::sinks::stderr_sink_st>(), format,
                                        level);
}

Result<std::unique_ptr<LogSink>> make_file_sink(std::filesystem::path const& path,
                                                LogFormat format) {
    try {
        OSORA_TRY_VOID(open_private(path, O_WRONLY | O_APPEND));
        auto file = std::make_unique<spdlog::sinks::basic_file_sink_st>(path.string());
        return std::unique_ptr<LogSink>(
            std::make_unique<SpdlogSink>(std::move(file), format, LogLevel::debug));
    } catch (spdlog::spdlog_ex const& failure) {
        return Error{Errc::io, path.string() + ": open log: " + failure.what()};
    }
}

}  // namespace osora
