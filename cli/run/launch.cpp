// The lifeline is the write end of a pipe: the kernel closes it when this process exits for any
// reason.
#include "cli/run/launch.hpp"

#include "base/files/files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <vector>

namespace osora::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kLifelineNumber = 3;  // time to start, in the controller

fs::path stderr_file(RunFolder const& run) {
    return run.paths.dir / "controller.stderr";
}

/// The last `count` lines of a small file; empty when there is none.
std::string tail_of(fs::path const& file, int count) {
    auto const text = read_file(file, 1 << 20);
    if (text.has_error()) return "";
    std::string_view rest = *text;
    while (rest.ends_with('\n')) rest.remove_suffix(1);
    std::size_t at = rest.size();
    for (int i = 0; i < count && at != std::string_view::npos; ++i) {
        at = at == 0 ? std::string_view::npos : rest.rfind('\n', at - 1);
    }
    return std::string(at == std::string_view::npos ? rest : rest.substr(at + 1));
}

/// What the job script printed on Slurm; empty when there is nothing.
fs::path newest_job_log(RunFolder const& run) {
    fs::path newest;
    fs::file_time_type time{};
    std::error_code ignored;
    for (auto const& each : fs::directory_iterator(run.paths.dir, ignored)) {
        std::string const name = each.path().filename().string();
        if (!name.starts_with("job-") || !name.ends_with(".log")) continue;
        auto const written = each.last_write_time(ignored);
        if (newest.empty() || written > time) newest = each.path();
        time = std::max(time, written);
    }
    return newest;
}

Result<fs::path> existing(fs::path const& program, std::string_view advice) {
    if (::access(program.c_str(), X_OK) == 0) return program;
    return Error{Errc::not_found, fmt::format("{}: no such program; {}", program.string(), advice)};
}

}  // namespace

Result<fs::path> controller_program(Context const& context) {
    return existing(context.program_dir / "osorad", "osora and osorad belong in one folder");
}

Result<fs::path> worker_program(Context const& context) {
    std::string const chosen = variable_or(context.environment, "OSORA_WORKER", "");
    if (!chosen.empty()) {
        std::error_code error;
        return existing(fs::absolute(chosen, error), "it is what OSORA_WORKER says");
    }
    return existing(context.program_dir / "osora-worker",
                    "this installation or build has none (it needs LibTorch); name a worker "
                    "program in OSORA_WORKER, or build osora with LibTorch");
}

Result<Controller> start_controller(Context const& context, RunFolder const& run,
                                    LaunchOptions const& options) {
    OSORA_TRY(auto const program, controller_program(context));
    SpawnOptions spawning;
    spawning.program = program;
    spawning.arguments = {"--one-run", run.paths.dir.string()};
    if (options.resume) spawning.arguments.push_back("--resume");
    spawning.environment = context.environment;
    spawning.new_session = !options.attached;
    spawning.death_signal = 0;  // it is ended through the lifeline, cleanly

    fs::path const errors = stderr_file(run);
    OSORA_TRY(auto const output, open_private(errors, O_WRONLY | O_TRUNC | O_APPEND));
    spawning.descriptors = {{output.get(), STDOUT_FILENO}, {output.get(), STDERR_FILENO}};

    Controller controller;
    Descriptor held;
    if (options.attached) {
        std::array<int, 2> ends{};
        if (::pipe2(ends.data(), O_CLOEXEC) != 0) return file_error(errno, "pipe", run.paths.dir);
        held.reset(ends[0]);
        controller.lifeline.reset(ends[1]);
        spawning.descriptors.emplace_back(held.get(), kLifelineNumber);
        spawning.arguments.push_back("--lifeline-fd");
        spawning.arguments.push_back(std::to_string(kLifelineNumber));
    }
    auto child = spawn(spawning);
    if (child.has_error()) return std::move(child).error().in("start the controller");
    controller.child = std::move(*child);
    return controller;
}

std::string last_output_lines(RunFolder const& run) {
    constexpr int kLines = 5;
    std::string words = tail_of(stderr_file(run), kLines);
    if (words.empty()) words = tail_of(run.paths.controller_log(), kLines);
    return words.empty() ? tail_of(newest_job_log(run), kLines) : words;
}

}  // namespace osora::cli
