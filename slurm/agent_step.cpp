// srun also reads options from SLURM_* variables: these arguments override them, the rest is
// removed.
#include "slurm/agent_step.hpp"

#include "base/host_list.hpp"
#include "slurm/notation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace osora::slurm {
namespace {

using Words = std::vector<std::string>;

Words shared(std::string const& job_id, Words const& hosts) {
    return {"--jobid=" + job_id,
            fmt::format("--nodes={}", hosts.size()),
            fmt::format("--ntasks={}", hosts.size()),
            "--ntasks-per-node=1",
            "--nodelist=" + join_hosts(hosts),
            "--overlap",
            "--mpi=none",
            "--cpu-bind=none",
            "--export=ALL",
            "--quit-on-interrupt"};
}

void add_container(AgentStep const& step, Words& options, Words& command) {
    if (step.container.empty()) return;
    std::string const programs = step.osorad.parent_path().string();
    std::string const run_dir = step.run_dir.string();
    if (step.container.ends_with(".sif")) {
        Words const wrapper{"apptainer", "exec",   "--nv",  "--bind",
                            programs,    "--bind", run_dir, step.container};
        command.insert(command.begin(), wrapper.begin(), wrapper.end());
        return;
    }
    options.push_back("--container-image=" + step.container);
    options.push_back(fmt::format("--container-mounts={0}:{0},{1}:{1}", programs, run_dir));
}

}  // namespace

Words srun_arguments(AgentStep const& step) {
    Words options = shared(step.job_id, step.hosts);
    options.insert(
        options.end(),
        {"--job-name=osora-agent", "--gpu-bind=none",
         "--kill-on-bad-exit=0",  // an agent's end says nothing about the others
         "--wait=0", "--no-kill", "--open-mode=append", "--input=all",
         fmt::format("--output={}/{}", output_pattern(step.run_dir.string()), step.log_name)});
    Words command{step.osorad.string(), "agent"};
    add_container(step, options, command);
    options.insert(options.end(), command.begin(), command.end());
    return options;
}

Words remote_command_arguments(std::string const& job_id, std::string const& host,
                               Words const& command) {
    Words words = shared(job_id, {host});
    words.insert(words.end(), {"--job-name=osora-command", "--input=all"});
    words.insert(words.end(), command.begin(), command.end());
    return words;
}

void remove_step_shape(Environment& environment) {
    constexpr std::array<std::string_view, 9> kPrefixes{
        "SLURM_CPU_BIND", "SLURM_MEM_BIND",  "SLURM_NTASKS", "SLURM_STEP_", "SLURM_TASK",
        "SLURM_GPU_BIND", "SLURM_TRES_BIND", "SLURM_SRUN_",  "SRUN_"};
    constexpr std::array<std::string_view, 22> kNames{
        "SLURM_NPROCS",        "SLURM_CPUS_PER_TASK", "SLURM_DISTRIBUTION",
        "SLURM_HINT",          "SLURM_EXPORT_ENV",    "SLURM_OPEN_MODE",
        "SLURM_WAIT",          "SLURM_KILL_BAD_EXIT", "SLURM_NO_KILL",
        "SLURM_EXCLUSIVE",     "SLURM_EXACT",         "SLURM_WHOLE",
        "SLURM_OVERLAP",       "SLURM_OVERCOMMIT",    "SLURM_HOSTFILE",
        "SLURM_STDINMODE",     "SLURM_STDOUTMODE",    "SLURM_STDERRMODE",
        "SLURM_GPUS_PER_TASK", "SLURM_TRES_PER_TASK", "SLURM_THREADS_PER_CORE",
        "SLURM_MPI_TYPE"};
    std::erase_if(environment, [&](std::string const& entry) {
        std::string_view const name = std::string_view(entry).substr(0, entry.find('='));
        bool const family = std::ranges::any_of(
            kPrefixes, [name](std::string_view prefix) { return name.starts_with(prefix); });
        return family || std::ranges::find(kNames, name) != kNames.end();
    });
}

}  // namespace osora::slurm
