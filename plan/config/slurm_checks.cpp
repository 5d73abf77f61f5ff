// Options that osora writes into the job script must not be given again.
#include "plan/config/slurm_checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace osora::plan {
namespace {

struct Owned {
    std::string_view option;   // long
    std::string_view shorter;  // "" = none
    std::string_view instead;
};
constexpr std::array kOwned{
    Owned{"--nodes", "-N", "resources.nodes"},
    Owned{"--time", "-t", "resources.time_limit"},
    Owned{"--partition", "-p", "slurm.partition"},
    Owned{"--account", "-A", "slurm.account"},
    Owned{"--qos", "-q", "slurm.qos"},
    Owned{"--constraint", "-C", "slurm.constraint"},
    Owned{"--reservation", "", "slurm.reservation"},
    Owned{"--job-name", "-J", "run.name"},
    Owned{"--exclude", "-x", "faults.exclude_nodes"},
    Owned{"--gpus-per-node", "", "slurm.gpus"},
    Owned{"--container-image", "", "slurm.container"},
    Owned{"--ntasks", "-n", ""},
    Owned{"--ntasks-per-node", "", ""},
    Owned{"--array", "-a", ""},
    Owned{"--requeue", "", "slurm.chain"},
    Owned{"--no-requeue", "", ""},
    Owned{"--output", "-o", ""},
    Owned{"--error", "-e", ""},
    Owned{"--open-mode", "", ""},
    Owned{"--export", "", "worker.env"},
    Owned{"--export-file", "", "worker.env"},
    Owned{"--signal", "", ""},
    Owned{"--no-kill", "-k", ""},
    Owned{"--wrap", "", ""},
    Owned{"--wait", "-W", ""},
    Owned{"--parsable", "", ""},
    Owned{"--test-only", "", ""},
};

Owned const* owner_of(std::string_view option) {
    auto const* const found = std::ranges::find_if(kOwned, [option](Owned const& each) {
        if (option.starts_with("--")) return option.substr(0, option.find('=')) == each.option;
        return !each.shorter.empty() && option.starts_with(each.shorter);
    });
    return found == kOwned.end() ? nullptr : found;
}

void check_extra(ResolvedConfig& resolved) {
    for (std::string const& option : resolved.config.slurm.extra) {
        Owned const* owner = owner_of(option);
        if (owner == nullptr) continue;
        std::string const instead =
            owner->instead.empty() ? "" : fmt::format("; set {}", owner->instead);
        complain(resolved, "slurm.extra",
                 fmt::format("{} is set by osora{}", option.substr(0, option.find('=')), instead));
    }
}

/// "8", "h100:8"
bool is_gpu_count(std::string_view text) {
    std::size_t const colon = text.rfind(':');
    std::string_view const count = colon == text.npos ? text : text.substr(colon + 1);
    bool const digits = !count.empty() && count.find_first_not_of("0123456789") == count.npos;
    return digits && count != "0" && colon != 0 && text.find_first_of(" ,\t\n") == text.npos;
}

}  // namespace

void check_slurm(ResolvedConfig& resolved) {
    auto const& slurm = resolved.config.slurm;
    if (!resolved.unread.contains("slurm.extra")) check_extra(resolved);
    if (slurm.gpus != "auto" && slurm.gpus != "none" && !is_gpu_count(slurm.gpus)) {
        complain(resolved, "slurm.gpus",
                 "expected \"auto\", \"none\", a count, or TYPE:COUNT as in \"h100:8\"");
    }
}

bool is_done_by_slurm(std::string_view section, std::string_view key) {
    return (section == "resources" && (key == "spares" || key == "time_limit")) ||
           (section == "faults" && key == "exclude_nodes");
}

}  // namespace osora::plan
