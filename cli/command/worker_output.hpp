// Runs a helper program for commands that need tensors or frames, and reads its output; osora
// itself links neither LibTorch nor FFmpeg.
#pragma once

#include "base/process/process.hpp"
#include "base/result.hpp"
#include "cli/command/context.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace osora::cli {

/// $VARIABLE, else NAME beside osora.
struct HelperProgram {
    std::string_view name = "osora-worker";
    std::string_view variable = "OSORA_WORKER";
};
inline constexpr HelperProgram kClipsProgram{.name = "osora-clips", .variable = "OSORA_CLIPS"};

struct WorkerOutput {
    std::string text;
    ExitStatus status;
};

/// Runs the program to its end. Its stderr is inherited; more than 256 MiB of output is
/// invalid_input.
[[nodiscard]] Result<WorkerOutput> run_worker(Context const& context,
                                              std::vector<std::string> arguments,
                                              HelperProgram program = {});

struct HelperAnswer {
    int exit_code = 0;  // osora's exit code; the error has been printed
    std::string text;
};

/// Runs a program and returns its output to the command.
[[nodiscard]] HelperAnswer answer_of_helper(Context const& context,
                                            std::vector<std::string> arguments,
                                            HelperProgram program);

/// Runs a program for a command and prints its JSON unchanged, or the text that `summary` makes of
/// it. Returns its exit code (docs/contract.md section 4); the program has printed errors on stderr
/// itself, except an end by a signal, which is printed here.
[[nodiscard]] int run_worker_and_print(Context const& context, std::vector<std::string> arguments,
                                       bool as_json,
                                       Result<std::string> (*summary)(std::string_view json),
                                       HelperProgram program = {});

}  // namespace osora::cli
