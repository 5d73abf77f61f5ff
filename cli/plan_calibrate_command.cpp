// osora plan calibrate: has the worker measure this machine and keeps the constants.
#include "base/process.hpp"
#include "base/units.hpp"
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/json_output.hpp"
#include "cli/plan_calibration.hpp"
#include "cli/plan_run.hpp"
#include "cli/run_file_command.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

namespace osora::cli {
namespace {

constexpr std::size_t kOutputBytesMax = 1 << 20;

Error system_error(int error, char const* what) {
    return Error{Errc::io, fmt::format("{}: {}", what, std::generic_category().message(error))};
}

/// All that a child writes, until it closes its end.
Result<std::string> read_all(int fd) {
    std::string text;
    std::array<char, 4096> buffer{};
    for (;;) {
        ssize_t const got = ::read(fd, buffer.data(), buffer.size());
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return system_error(errno, "read");
        if (got == 0) return text;
        text.append(buffer.data(), static_cast<std::size_t>(got));
        if (text.size() > kOutputBytesMax) {
            return Error{Errc::invalid_input, "it printed more than 1 MiB"};
        }
    }
}

Result<plan::Calibration> measure(Context const& context,
                                  std::optional<std::string> const& manifest) {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) return system_error(errno, "pipe");
    Descriptor const reader(ends[0]);
    Descriptor writer(ends[1]);
    SpawnOptions options;
    options.program = variable_or(context.environment, "OSORA_WORKER",
                                  (context.program_dir / "osora-worker").string());
    options.arguments = {"--calibrate"};
    if (manifest) options.arguments.push_back(*manifest);
    options.environment = context.environment;
    options.descriptors = {{writer.get(), STDOUT_FILENO}, {STDERR_FILENO, STDERR_FILENO}};
    OSORA_TRY(Child const child, spawn(options));
    writer.reset();
    auto const text = read_all(reader.get());
    if (text.has_error()) signal_group(child, SIGKILL);
    ExitStatus const status = reap(child);
    if (text.has_error()) return text.error();
    if (status.signal != 0 || status.exit_code != 0) {
        return Error{Errc::io, "osora-worker --calibrate " + describe(status)};
    }
    auto calibration = parse_calibration(*text);
    if (calibration.has_error()) return std::move(calibration).error().in("osora-worker");
    calibration->measured = true;
    return calibration;
}

void print_summary(plan::Calibration const& c) {
    fmt::print("measured {} on {}, {} core{}\n", c.machine.empty() ? "this machine" : c.machine,
               c.processor.empty() ? c.device : c.processor, c.cores, c.cores == 1 ? "" : "s");
    for (plan::MatmulRate const& row : c.matmul) {
        fmt::print("  {:.3g} GFLOP/s at {} wide, {} thread{}\n", row.gflops, row.size, row.threads,
                   row.threads == 1 ? "" : "s");
    }
    fmt::print("  {:.3g} us an operator · {:.3g} GB/s memory{}\n", c.launch_floor_us,
               c.memory_bandwidth_gbps,
               c.decode_ms_per_megapixel > 0
                   ? fmt::format(" · {:.3g} ms a decoded megapixel", c.decode_ms_per_megapixel)
                   : "");
    fmt::print("  all_reduce of {} ranks: {} + {:.3g} ms a MiB\n", c.all_reduce.ranks,
               format_seconds(c.all_reduce.a_s),
               c.all_reduce.b_s_per_byte * static_cast<double>(kMiB) * 1e3);
    for (plan::ModelStep const& step : c.model_steps) {
        fmt::print("  {} {} x {}, micro-batch {}, {} thread{}: {} forward and backward\n",
                   step.arch, step.resolution, step.num_frames, step.micro_batch_size, step.threads,
                   step.threads == 1 ? "" : "s", format_seconds(step.forward_backward_s));
    }
}

int run(Context const& context, Arguments const& arguments) {
    auto const path = calibration_path(context);
    if (path.has_error()) return fail(exit_code_for(path.error().code), path.error().message);
    auto const measured = measure(context, arguments.value("--manifest"));
    if (measured.has_error()) return fail(kExitBad, "calibrate: " + measured.error().message);
    std::error_code error;
    std::filesystem::create_directories(path->parent_path(), error);
    if (auto const saved = save_calibration(*path, *measured); saved.has_error()) {
        return fail(kExitBad, saved.error().message);
    }
    if (arguments.has("--json")) {
        fmt::print("{}\n", protocol::encode(*measured));
    } else {
        print_summary(*measured);
        fmt::print("kept in {}\n", path->string());
    }
    return kExitOk;
}

}  // namespace

CommandSpec plan_calibrate_command() {
    return {.name = "plan calibrate",
            .summary = "measure this machine for the planner",
            .details =
                "Runs osora-worker for a minute to measure matrix products, memory, the "
                "cost of an operator, all_reduce and steps of a small model, and keeps the "
                "constants in the state folder. With --manifest also what decoding of some of its "
                "clips costs. Run it while the machine does nothing else.",
            .example = "osora plan calibrate --manifest clips.csv",
            .positionals = {},
            .options = {{.name = "--manifest",
                         .value = "FILE",
                         .help = "Clips (CSV, as data.manifest) to measure decoding on.",
                         .complete = Complete::file},
                        json_option("Print the constants as JSON (osora.calibration/1).")},
            .run = run};
}

}  // namespace osora::cli
