// osora-worker: one rank of a job. Started by an agent (or torchrun, or by hand) with the job's
// file; who it is comes from the environment. Exit codes: docs/contract.md section 4.
#include "base/files/files.hpp"
#include "base/process/parent_signal.hpp"
#include "base/process/stack_signal.hpp"
#include "base/text/printable.hpp"
#include "base/version.hpp"
#include "protocol/exit_codes.hpp"
#include "protocol/json.hpp"
#include "worker/cases/merge_command.hpp"
#include "worker/cases/model_command.hpp"
#include "worker/data/clip_in_hand.hpp"
#include "worker/data/crashed_clips.hpp"
#include "worker/data/frames/decoder.hpp"
#include "worker/jobs/agent_link.hpp"
#include "worker/jobs/calibrate/calibrate.hpp"
#include "worker/jobs/calibrate/calibrate_decode.hpp"
#include "worker/jobs/calibrate/calibrate_gpu.hpp"
#include "worker/jobs/encode/encode_job.hpp"
#include "worker/jobs/job_parts.hpp"
#include "worker/jobs/rank_environment.hpp"
#include "worker/jobs/rehearse/collective_probe.hpp"
#include "worker/jobs/rehearse/rehearse_job.hpp"
#include "worker/jobs/sample/sample_command.hpp"
#include "worker/jobs/score/score_job.hpp"
#include "worker/jobs/train_job.hpp"
#include "worker/memory/counted_allocator.hpp"
#include "worker/memory/out_of_memory.hpp"
#include "worker/parallel/flight/flight_signal.hpp"
#include "worker/train/torch_failure.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace osora::worker {
namespace {

constexpr std::string_view kUsage =
    "osora-worker: one rank of an osora job\n"
    "usage: osora-worker --job RUN_DIR/job.json\n"
    "       osora-worker --calibrate [MANIFEST [NAME=COLUMN ...]]\n"
    "                                      measures this machine (and the decoding of these "
    "clips)\n"
    "                                      for the planner, prints JSON\n"
    "       osora-worker --model forward|train-step --case FILE --out FILE\n"
    "                                      runs a network on the tensors of a file, prints JSON;\n"
    "                                      --arch A --weights FILE --inputs FILE in place of "
    "--case\n"
    "       osora-worker --sample CHECKPOINT [--frames N --size WxH --steps N ...]\n"
    "                                      writes a clip and a contact sheet, prints JSON\n"
    "       osora-worker --model merge --weights FILE --adapter DIR --out FILE\n"
    "                                      weights with a LoRA adapter added in\n"
    "       osora-worker --version | --help\n"
    "The rank comes from RANK, LOCAL_RANK, WORLD_SIZE, LOCAL_WORLD_SIZE, MASTER_ADDR and\n"
    "MASTER_PORT; agents also set OSORA_ATTEMPT, OSORA_AGENT_FD and OSORA_STORE_FD.\n"
    "example: RANK=0 WORLD_SIZE=1 osora-worker --job ~/.local/state/osora/runs/run-0001/job.json\n";

/// Segments that grow in place: free blocks of one bucket's shapes serve the next one's. LibTorch
/// reads its settings when libosora_cuda.so is loaded; a user's own have priority.
void choose_allocator(std::map<std::string, std::string> const& environment) {
    if (environment.contains("PYTORCH_ALLOC_CONF")) return;
    ::setenv("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True", 0);
}

std::map<std::string, std::string> read_environment() {
    std::map<std::string, std::string> variables;
    for (char** each = environ; *each != nullptr; ++each) {
        std::string_view const text = *each;
        auto const equals = text.find('=');
        if (equals == std::string_view::npos) continue;
        variables.emplace(text.substr(0, equals), text.substr(equals + 1));
    }
    return variables;
}

int fail(AgentLink& agent, std::string const& message, int code) {
    agent.send(protocol::WorkerFailed{.exit_code = code, .message = message});
    fmt::print(stderr, "osora-worker: {}\n", printable(message, "\n\t"));
    return code;
}

int fail(AgentLink& agent, Error const& error) {
    return fail(agent, error.message, exit_code_of(error));
}

using Job = Result<TrainOutcome> (*)(plan::WorkerJob const&, RankEnvironment const&, AgentLink&);

/// nullptr: not one that this program does.
Job job_of(std::string const& name) {
    if (name == "train" || name == "train_vae" || name == "train_vqvae") return run_train_job;
    if (name == "encode") return run_encode_job;
    if (name == "score") return run_score_job;
    if (name == "rehearse") return run_rehearse_job;
    return name == "probe" ? run_collective_probe : nullptr;
}

int run_job(std::string const& path, AgentLink& agent, RankEnvironment const& self) {
    auto const text = read_file(path);
    if (text.has_error()) return fail(agent, text.error());
    auto const job = protocol::decode<plan::WorkerJob>(*text);
    if (job.has_error()) return fail(agent, Error(job.error()).in(path));
    auto const run = job_of(job->config.run.job);
    if (run == nullptr) {
        return fail(agent, {Errc::invalid_input,
                            fmt::format("job '{}' is not one of: train, train_vae, train_vqvae, "
                                        "encode, score, rehearse, probe",
                                        job->config.run.job)});
    }
    // The agent knows the name, too (daemon/agent/stacks.hpp).
    write_stacks_to(std::filesystem::path(job->run_dir) / "stacks" / std::to_string(self.attempt) /
                    fmt::format("{}.own", self.rank));
    // Beside what flight signals do about SIGABRT.
    note_crashes_in(crash_file_of(job->run_dir, self.attempt, self.rank));
    CountedAllocator::install();  // before the first tensor
    auto const outcome = run(*job, self, agent);
    if (outcome.has_error()) return fail(agent, outcome.error());
    if (!outcome->failed_check.empty())
        return fail(agent, outcome->failed_check, protocol::kExitCheckFailed);
    agent.send(protocol::WorkerFinished{.steps = outcome->steps, .stopped = outcome->stopped});
    return 0;
}

/// The GPUs if ranks would use some, else the CPU.
Result<plan::Calibration> calibrate_this_machine() {
    OSORA_TRY(auto const gpus, gpus_to_calibrate(cuda_module_path()));
    return gpus.empty() ? calibrate_cpu() : calibrate_gpu(gpus, usual_gpu_work());
}

/// `words`: nothing, or a manifest and names of its columns.
int print_calibration(std::vector<std::string> const& words) {
    auto const columns = plan::columns_of_words({words.begin() + !words.empty(), words.end()});
    if (columns.has_error()) {
        fmt::print(stderr, "osora-worker: {}\n", columns.error().message);
        return exit_code_of(columns.error());
    }
    Result<plan::Calibration> found = plan::Calibration();
    auto rate = Result<double>(0.0);
    if (!words.empty()) {  // first: a list that cannot be used costs no minute of measuring
        note_crashes_in({});
        rate = decode_ms_per_megapixel(words[0], *columns);
        if (rate.has_error()) found = Error(rate.error()).in("decoding");
    }
    if (found.has_value()) found = calibrate_this_machine();
    if (found.has_value() && !words.empty()) found->decode_ms_per_megapixel = *rate;
    if (found.has_error()) {
        fmt::print(stderr, "osora-worker: {}\n", found.error().message);
        return exit_code_of(found.error());
    }
    fmt::print("{}\n", protocol::encode(*found));
    return 0;
}

Result<std::string> model_summary(std::span<std::string const> words) {
    if (!words.empty() && words[0] == "merge") {
        OSORA_TRY(auto const command, parse_merge_command(words.subspan(1)));
        return run_merge_command(command);
    }
    OSORA_TRY(auto const command, parse_model_command(words));
    return run_model_command(command);
}

/// Prints the result of a command, or its error.
int print_result(Result<std::string> const& printed) {
    if (printed.has_error()) {
        fmt::print(stderr, "osora-worker: {}\n", printed.error().message);
        return exit_code_of(printed.error());
    }
    fmt::print("{}\n", *printed);
    return 0;
}

int run_sample(std::span<std::string const> words) {
    auto const request = parse_sample_request(words);
    return print_result(request.has_error() ? Result<std::string>(request.error())
                                            : run_sample_command(*request));
}

int run(std::vector<std::string> const& arguments) {
    if (arguments.size() == 1 && arguments[0] == "--version") {
        fmt::print("osora-worker {} ({})\n", kVersion, kGitCommit);
        return 0;
    }
    if (arguments.size() == 1 && arguments[0] == "--help") {
        fmt::print("{}", kUsage);
        return 0;
    }
    if (!arguments.empty() && arguments[0] == "--model")
        return print_result(model_summary(std::span(arguments).subspan(1)));
    silence_ffmpeg();  // what a clip lacks is reported by the loader, once
    if (!arguments.empty() && arguments[0] == "--sample")
        return run_sample(std::span(arguments).subspan(1));
    if (!arguments.empty() && arguments[0] == "--calibrate")
        return print_calibration({arguments.begin() + 1, arguments.end()});
    if (arguments.size() != 2 || arguments[0] != "--job") {
        fmt::print(stderr, "{}", kUsage);
        return protocol::kExitConfiguration;
    }
    auto const environment = read_environment();
    choose_allocator(environment);
    auto const self = rank_environment(environment);
    AgentLink agent(self.has_value() ? self->agent_fd : -1);
    if (self.has_value() && self->agent_fd >= 0) {
        catch_flight_signals();
        only_parent_terminates(write_flight_before_the_end);
    }
    if (self.has_error()) return fail(agent, self.error());
    return run_job(arguments[1], agent, *self);
}

int run_guarded(std::vector<std::string> const& arguments) {
    try {
        return run(arguments);
    } catch (std::exception const& error) {
        fmt::print(stderr, "osora-worker: {}\n", error.what());
        std::string const text = std::string(kTorchFailure) + error.what();
        return exit_code_of({is_out_of_memory(error) ? Errc::out_of_memory : Errc::io, text});
    }
}

}  // namespace
}  // namespace osora::worker

int main(int count, char** arguments) {
    int const code = osora::worker::run_guarded({arguments + 1, arguments + count});
    // Without the destructors of libraries: LibTorch's take as long as a fifth of the start to
    // unregister what nobody calls any more, beside threads that may still use it.
    std::fflush(nullptr);
    ::_exit(code);
}
