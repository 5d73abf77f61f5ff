#include "daemon/node/node_profile.hpp"

#include "base/files/files.hpp"
#include "base/files/own_folder.hpp"
#include "base/ids.hpp"
#include "plan/nccl/setting_nodes.hpp"
#include "protocol/json.hpp"
#include "protocol/run_directory.hpp"
#include "topology/cpu_list.hpp"
#include "topology/live/read_cores.hpp"

#include <fmt/format.h>
#include <unistd.h>

namespace osora::daemon {
namespace {

namespace fs = std::filesystem;

bool sees_whole_machine(fs::path const& root) {
    auto const online = read_file(root / "sys/devices/system/cpu/online");
    return online.has_value() && topology::parse_cpu_list(*online) == topology::usable_cpus(0);
}

}  // namespace

topology::NodeProfile profile_of(ProfileFacts const& facts) {
    topology::NodeProfile profile;
    profile.boot_id = facts.boot_id;
    for (plan::NcclSetting const& each : facts.settings) {
        bool const of_node = each.origin == "facts" || each.origin == "probe";
        if (!of_node || !plan::applies_to(each, facts.host)) continue;
        if (topology::is_srun_variable(each.name)) profile.env[each.name] = each.value;
    }
    if (!facts.whole_machine || facts.node.gpus.empty()) return profile;
    topology::BindingRequest request;
    request.ranks = static_cast<int>(facts.node.gpus.size());
    for (auto const& gpu : facts.node.gpus) request.near.push_back(gpu.near_cpus);
    for (auto const& cpus : topology::bind_ranks(facts.node.cores, request).cpus) {
        profile.cpus.push_back(topology::format_cpu_list(cpus));
    }
    return profile;
}

fs::path default_profile_folder(unsigned uid) {
    return uid == 0 ? fs::path("/run/osora") : fs::path(fmt::format("/tmp/osora-{}", uid));
}

Result<bool> write_profile(fs::path const& folder, topology::NodeProfile const& profile) {
    std::error_code missing;
    if (fs::is_symlink(folder, missing)) return invalid(folder.string() + ": is a symbolic link");
    // The plug-in requires it: no other user may write into it.
    auto const checked = check_own_folder(folder);
    if (checked.has_error() && checked.error().code == Errc::not_found) return false;
    OSORA_TRY_VOID(checked);
    OSORA_TRY(auto const text, topology::encode_node_profile(profile));
    auto const known = read_file(folder / "node");
    if (known.has_value() && *known == text) return false;
    OSORA_TRY_VOID(write_file_atomic(folder / "node", text, 0644));
    return true;
}

void leave_profile(fs::path const& folder, fs::path const& run_dir, std::string host, Logger& log) {
    std::error_code ignored;
    if (!fs::exists(folder, ignored)) return;
    ProfileFacts facts;
    facts.boot_id = boot_id();
    facts.host = std::move(host);
    facts.node = read_node_cores("/");
    facts.whole_machine = sees_whole_machine("/");
    if (auto const text = read_file(protocol::RunPaths{run_dir}.job()); text.has_value()) {
        auto job = protocol::decode<plan::WorkerJob>(*text);
        if (job.has_value()) facts.settings = std::move(job->plan.nccl_env);
    }
    auto const written = write_profile(folder, profile_of(facts));
    if (written.has_error()) {
        log.warning("cannot write the node profile", {{"why", written.error().message}});
    } else if (*written) {
        log.info("wrote the node profile", {{"path", (folder / "node").string()}});
    }
}

}  // namespace osora::daemon
