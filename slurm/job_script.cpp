// One line for each option. The script runs twice: first as Slurm starts it, with almost no
// environment; then again in the environment of RUN_DIR/environment, byte for byte.
#include "slurm/job_script.hpp"

#include "base/host_list.hpp"
#include "base/text/shell_word.hpp"
#include "slurm/notation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace osora::slurm {
namespace {

using Lines = std::vector<std::string>;

/// Whether `extra` already has `option`, as "--mem", "--mem=0" or, with a short name, "-c8".
bool says(std::vector<std::string> const& extra, std::string_view option) {
    return std::ranges::any_of(extra, [option](std::string_view each) {
        if (!each.starts_with(option)) return false;
        bool const is_long = option.starts_with("--");
        return !is_long || each.size() == option.size() || each[option.size()] == '=';
    });
}

/// Every core of the nodes, unless the run file sets the number.
void ask_for_cores(JobRequest const& request, Lines& options) {
    auto const& resources = request.resources;
    if (resources.cpus_per_worker > 0) {
        int const cpus = resources.cpus_per_worker * resources.gpus_per_node;
        options.push_back(fmt::format("--cpus-per-task={}", cpus));
        return;
    }
    constexpr std::array kSaid{"--exclusive",    "--cpus-per-task", "-c",
                               "--cpus-per-gpu", "--oversubscribe", "-s",
                               "--mincpus"};
    bool const said = std::ranges::any_of(
        kSaid, [&](auto const* option) { return says(request.slurm.extra, option); });
    if (said) return;
    options.emplace_back("--exclusive");
    if (!says(request.slurm.extra, "--mem") && !says(request.slurm.extra, "--mem-per-cpu") &&
        !says(request.slurm.extra, "--mem-per-gpu")) {
        options.emplace_back("--mem=0");
    }
}

void ask_for_gpus(JobRequest const& request, Lines& options) {
    std::string const& gpus = request.slurm.gpus;
    if (gpus == "none") return;
    std::string const wanted =
        gpus == "auto" ? std::to_string(request.resources.gpus_per_node) : gpus;
    options.push_back("--gpus-per-node=" + wanted);
    options.emplace_back("--gpu-bind=none");  // a rank selects by LOCAL_RANK and sees its peers
}

Lines options_of(JobRequest const& request) {
    auto const& resources = request.resources;
    auto const& slurm = request.slurm;
    Lines options{"--job-name=" + request.name,
                  fmt::format("--nodes={}", resources.nodes + resources.spares),
                  "--ntasks-per-node=1"};
    ask_for_gpus(request, options);
    ask_for_cores(request, options);
    if (!resources.time_limit.empty()) options.push_back("--time=" + resources.time_limit);
    options.push_back(fmt::format("--signal=B:USR2@{}", warning_s(resources.time_limit)));
    // osora restarts the run where possible, so a lost node must not end the job. sbatch is run
    // with few variables; with NIL and NONE slurmd 22.05 loads a login environment, which takes a
    // second.
    options.insert(options.end(),
                   {"--no-requeue", "--no-kill", "--open-mode=append",
                    fmt::format("--output={}/job-%j.log", output_pattern(request.run_dir.string())),
                    "--export=ALL"});
    std::array const asked{std::pair{"--partition=", slurm.partition},
                           std::pair{"--account=", slurm.account},
                           std::pair{"--qos=", slurm.qos},
                           std::pair{"--constraint=", slurm.constraint},
                           std::pair{"--reservation=", slurm.reservation},
                           std::pair{"--exclude=", join_hosts(request.exclude_nodes)}};
    for (auto const& [option, value] : asked) {
        if (!value.empty()) options.push_back(option + value);
    }
    return options;
}

std::string command_line(std::vector<std::string> const& words) {
    std::string line;
    for (std::string const& word : words) line += (line.empty() ? "" : " ") + shell_word(word);
    return line;
}

std::string prolog_text(std::vector<std::vector<std::string>> const& prolog) {
    std::string text;
    bool const modules = std::ranges::any_of(prolog, [](auto const& command) {
        return !command.empty() && (command[0] == "module" || command[0] == "ml");
    });
    if (modules) {
        text +=
            "if ! type module >/dev/null 2>&1; then\n"
            "    osora_path=$PATH\n"
            "    . /etc/profile\n"
            "    PATH=$osora_path:$PATH\n"
            "fi\n";
    }
    for (auto const& command : prolog) {
        if (command.empty()) continue;
        std::string const line = command_line(command);
        text += fmt::format("{} || {{ echo {} >&2; exit 1; }}\n", line,
                            shell_word("osora: [slurm] prolog failed: " + line));
    }
    return text;
}

}  // namespace

int warning_s(std::string const& time_limit) {
    constexpr int kUnknown = 300, kLeast = 60, kMost = 600;
    auto const limit_s = parse_duration(time_limit);
    if (!limit_s) return kUnknown;
    return static_cast<int>(std::clamp<std::int64_t>(*limit_s / 10, kLeast, kMost));
}

double gpu_hours(plan::ResourcesSection const& resources) {
    auto const limit_s = parse_duration(resources.time_limit);
    if (!limit_s) return 0;
    int const nodes = resources.nodes + resources.spares;
    return static_cast<double>(*limit_s) / 3600 * nodes * resources.gpus_per_node;
}

Result<std::string> job_script(JobRequest const& request) {
    std::string text = "#!/bin/bash\n";
    for (std::string const& option : options_of(request)) {
        OSORA_TRY(auto const word, directive_word(option));
        text += "#SBATCH " + word + "\n";
    }
    std::string extra;
    for (std::string const& option : request.slurm.extra) {
        OSORA_TRY(auto const word, directive_word(option));
        extra += " " + word;
    }
    if (!extra.empty()) text += "#SBATCH" + extra + "\n";
    std::string const osorad = shell_word(request.osorad.string());
    std::string const run_dir = shell_word(request.run_dir.string());
    text += "\n# First without an environment, then again inside the submitter's.\n";
    text += fmt::format("[ \"${{1-}}\" = entered ] || exec {} enter {} \"$0\" entered\n", osorad,
                        run_dir);
    text += prolog_text(request.slurm.prolog);
    return text + fmt::format("exec {} batch {}\n", osorad, run_dir);
}

}  // namespace osora::slurm
