// The checks are independent: one that cannot run reports that and does not prevent the others.
#include "daemon/node/preflight.hpp"

#include "base/files/descriptor.hpp"
#include "base/files/files.hpp"
#include "base/files/regular_file.hpp"
#include "base/text/units.hpp"
#include "daemon/agent/worker_setup.hpp"
#include "protocol/json.hpp"
#include "protocol/run_directory.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>

namespace osora::daemon {
namespace {

namespace fs = std::filesystem;

/// Writes and removes a file; `file_time_s` gets the file system's time of it.
std::string check_writable(PreflightOptions const& options, double& file_time_s) {
    auto const folder = protocol::RunPaths{options.job.run_dir}.checkpoints();
    std::error_code error;
    fs::create_directories(folder, error);
    if (error) return file_error(error.value(), "create", folder).message;
    auto const path = folder / fmt::format(".preflight-{}", options.node);
    auto const opened = open_private(path, O_WRONLY | O_TRUNC);
    if (opened.has_error()) return opened.error().message;
    Descriptor const& file = *opened;
    struct stat facts {};
    bool const written = ::write(file.get(), "osora\n", 6) == 6;
    int const failure = errno;
    if (::fstat(file.get(), &facts) == 0) {
        file_time_s = static_cast<double>(facts.st_mtim.tv_sec) +
                      static_cast<double>(facts.st_mtim.tv_nsec) / 1e9;
    }
    ::unlink(path.c_str());
    return written ? "" : file_error(failure, "write", path).message;
}

std::string check_space(PreflightOptions const& options) {
    auto const free = free_bytes(options.job.run_dir);
    if (free.has_error()) return free.error().message;
    if (*free >= options.free_bytes_min) return "";
    return fmt::format("{}: {} are free", options.job.run_dir, format_bytes(*free));
}

std::string check_manifest(PreflightOptions const& options) {
    auto const& manifest = options.job.config.data.manifest;
    if (manifest.empty() || options.job.config.run.job == "exec") return "";
    fs::path const path = fs::path(options.job.base_dir) / manifest;
    auto const file = open_regular(path);
    return file.has_value() ? "" : file.error().message;
}

std::string check_program(PreflightOptions const& options) {
    auto const setup =
        set_up_worker(options.job, WorkerPlace{}, options.worker_program, options.environment);
    if (setup.has_error()) return setup.error().message;
    if (::access(setup->program.c_str(), X_OK) == 0) return "";
    return file_error(errno, "start", setup->program).message;
}

std::string check_clock(PreflightOptions const& options, double file_time_s) {
    constexpr double kJanuary2024 = 1'704'067'200;
    double const now_s = static_cast<double>(options.wall_us) / 1e6;
    if (now_s < kJanuary2024) return "the clock is not set";
    double const skew_s = now_s - file_time_s;
    if (file_time_s == 0 || std::abs(skew_s) <= options.clock_skew_max_s) return "";
    return fmt::format("the clock is {:.0f} s {} that of the run directory's file system",
                       std::abs(skew_s), skew_s > 0 ? "ahead of" : "behind");
}

}  // namespace

std::vector<std::string> preflight(PreflightOptions const& options) {
    double file_time_s = 0;
    std::vector<std::string> found{check_writable(options, file_time_s), check_space(options),
                                   check_manifest(options), check_program(options),
                                   check_clock(options, file_time_s)};
    std::erase(found, "");
    return found;
}

std::string preflight_fact(fs::path const& run_dir, PreflightOptions options) {
    auto const text = read_file(protocol::RunPaths{run_dir}.job());
    if (text.has_error()) return text.error().message;
    auto job = protocol::decode<plan::WorkerJob>(*text);
    if (job.has_error()) return "job.json: " + job.error().message;
    options.job = std::move(*job);
    auto const found = preflight(options);
    return found.empty() ? "ok" : fmt::format("{}", fmt::join(found, "; "));
}

}  // namespace osora::daemon
