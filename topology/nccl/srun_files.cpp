#include "topology/nccl/srun_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace osora::topology {
namespace {

// The limits of docs/rfc/003.
constexpr std::size_t kVariables = 64, kNameBytes = 64, kValueBytes = 4095, kSrunFileBytes = 65536;
constexpr std::size_t kLocalRanks = 64;

bool is_printable(std::string_view text) {
    return std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

Result<void> append_env(std::string& text, std::map<std::string, std::string> const& env) {
    if (env.size() > kVariables) {
        return Error{Errc::invalid_input,
                     fmt::format("{} variables, limit {}", env.size(), kVariables)};
    }
    for (auto const& [name, value] : env) {
        if (!is_srun_variable(name)) {
            return Error{Errc::invalid_input, name + ": not of NCCL, Gloo, UCX or libfabric"};
        }
        if (value.size() > kValueBytes || !is_printable(value)) {
            return Error{Errc::invalid_input, name + ": its value is too long or not ASCII"};
        }
        text += fmt::format("env {} {}\n", name, value);
    }
    return {};
}

Result<std::string> finished(std::string text) {
    text += "end\n";
    if (text.size() > kSrunFileBytes) return Error{Errc::invalid_input, "larger than 64 KiB"};
    return text;
}

}  // namespace

bool is_srun_variable(std::string_view name) {
    constexpr std::array<std::string_view, 5> kPrefixes{"NCCL_", "TORCH_NCCL_", "GLOO_", "UCX_",
                                                        "FI_"};
    auto const is_plain = [](char c) {
        return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    };
    return name.size() <= kNameBytes && std::all_of(name.begin(), name.end(), is_plain) &&
           std::any_of(kPrefixes.begin(), kPrefixes.end(), [&](std::string_view prefix) {
               return name.starts_with(prefix) && name.size() > prefix.size();
           });
}

Result<std::string> encode_node_profile(NodeProfile const& profile) {
    std::string text = fmt::format("osora-node 1\nboot {}\n", profile.boot_id);
    if (profile.boot_id.size() != 36 ||
        profile.boot_id.find_first_not_of("0123456789abcdef-") != std::string::npos) {
        return Error{Errc::invalid_input, "'" + profile.boot_id + "' is not a boot id"};
    }
    OSORA_TRY_VOID(append_env(text, profile.env));
    if (profile.cpus.size() > kLocalRanks) return Error{Errc::invalid_input, "too many ranks"};
    for (std::size_t rank = 0; rank < profile.cpus.size(); ++rank) {
        std::string const& list = profile.cpus[rank];
        if (list.find_first_not_of("0123456789-,") != std::string::npos) {
            return Error{Errc::invalid_input, "'" + list + "' is not a list of CPUs"};
        }
        if (!list.empty()) text += fmt::format("cpus {} {}\n", rank, list);
    }
    return finished(std::move(text));
}

Result<std::string> encode_srun_plan(SrunPlan const& plan) {
    std::string text = "osora-plan 1\n";
    OSORA_TRY_VOID(append_env(text, plan.env));
    if (plan.tasks > 0) text += fmt::format("tasks {}\n", plan.tasks);
    if (plan.tasks_per_node > 0) text += fmt::format("tasks_per_node {}\n", plan.tasks_per_node);
    return finished(std::move(text));
}

}  // namespace osora::topology
