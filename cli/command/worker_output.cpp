#include "cli/command/worker_output.hpp"

#include "cli/command/exit_code.hpp"
#include "cli/command/print.hpp"
#include "protocol/exit_codes.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

namespace osora::cli {
namespace {

constexpr std::size_t kOutputBytesMax = std::size_t{256} << 20;

Error system_error(int error, char const* what) {
    return Error{Errc::io, fmt::format("{}: {}", what, std::generic_category().message(error))};
}

/// Reads all output of a child until it closes its end.
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
            return Error{Errc::invalid_input, "it printed more than 256 MiB"};
        }
    }
}

int exit_code_after(ExitStatus const& status, HelperProgram program) {
    if (status.signal != 0) {
        return fail(kExitBad, fmt::format("{} {}", program.name, describe(status)));
    }
    switch (status.exit_code) {
        case 0:
            return kExitOk;
        case protocol::kExitConfiguration:
            return kExitUsage;
        case protocol::kExitOutOfMemory:
        case protocol::kExitData:  // a file that cannot be read, or could not be written
        case protocol::kExitGpu:
            return kExitBad;
        case protocol::kExitComm:
            return kExitUnreachable;
        default:
            return kExitInternal;
    }
}

}  // namespace

Result<WorkerOutput> run_worker(Context const& context, std::vector<std::string> arguments,
                                HelperProgram program) {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) return system_error(errno, "pipe");
    Descriptor const reader(ends[0]);
    Descriptor writer(ends[1]);
    SpawnOptions options;
    options.program = variable_or(context.environment, program.variable,
                                  (context.program_dir / program.name).string());
    options.arguments = std::move(arguments);
    options.environment = context.environment;
    options.descriptors = {{writer.get(), STDOUT_FILENO}, {STDERR_FILENO, STDERR_FILENO}};
    OSORA_TRY(Child const child, spawn(options));
    writer.reset();
    auto text = read_all(reader.get());
    if (text.has_error()) signal_group(child, SIGKILL);
    ExitStatus const status = reap(child);
    if (text.has_error()) return text.error();
    return WorkerOutput{std::move(*text), status};
}

HelperAnswer answer_of_helper(Context const& context, std::vector<std::string> arguments,
                              HelperProgram program) {
    auto output = run_worker(context, std::move(arguments), program);
    if (output.has_error()) return {fail(kExitInternal, output.error()), {}};
    return {exit_code_after(output->status, program), std::move(output->text)};
}

int run_worker_and_print(Context const& context, std::vector<std::string> arguments, bool as_json,
                         Result<std::string> (*summary)(std::string_view json),
                         HelperProgram program) {
    auto const answer = answer_of_helper(context, std::move(arguments), program);
    if (answer.exit_code != kExitOk) return answer.exit_code;
    if (as_json) {
        cli::print("{}", answer.text);
        return kExitOk;
    }
    auto const shown = summary(answer.text);
    if (shown.has_error()) return fail(kExitInternal, shown.error());
    cli::print("{}", *shown);
    return kExitOk;
}

}  // namespace osora::cli
