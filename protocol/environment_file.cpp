#include "protocol/environment_file.hpp"

#include "protocol/json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace osora::protocol {
namespace {

struct EnvironmentFile {
    std::string schema = "osora.environment/1";
    std::vector<Bytes> variables;
};
BOOST_DESCRIBE_STRUCT(EnvironmentFile, (), (schema, variables))

constexpr std::string_view kSchema = "osora.environment/1";

std::string_view name_of(std::string_view entry) {
    return entry.substr(0, entry.find('='));
}

/// Variables that locate Slurm rather than name this job.
bool is_of_the_cluster(std::string_view name) {
    return name == "SLURM_CONF" || name == "SLURM_CONF_SERVER" || name == "SLURM_JWT";
}

bool is_of_a_slurm_job(std::string_view name) {
    if (is_of_the_cluster(name)) return false;
    constexpr std::array<std::string_view, 4> kPrefixes{"SLURM_", "SLURMD_", "SRUN_", "SBATCH_"};
    return std::ranges::any_of(kPrefixes, [name](auto prefix) { return name.starts_with(prefix); });
}

bool is_of_the_place(std::string_view name) {
    constexpr std::array<std::string_view, 6> kNames{"CUDA_VISIBLE_DEVICES",
                                                     "ROCR_VISIBLE_DEVICES",
                                                     "GPU_DEVICE_ORDINAL",
                                                     "ZE_AFFINITY_MASK",
                                                     "TMPDIR",
                                                     "SLURM_CONF"};
    return is_of_a_slurm_job(name) || std::ranges::find(kNames, name) != kNames.end();
}

}  // namespace

Result<void> check_environment(Environment const& environment) {
    std::size_t bytes = 0;
    std::string_view largest;
    for (std::string const& entry : environment) {
        bytes += entry.size() + 1;
        if (entry.size() > largest.size()) largest = entry;
        if (entry.find('=') != std::string::npos && entry.find('\0') == std::string::npos) continue;
        return Error{Errc::invalid_input,
                     fmt::format("environment: '{}' is no NAME=value", entry.substr(0, 40))};
    }
    std::string_view const name = name_of(largest).substr(0, 60);
    if (largest.size() > kVariableBytesMax) {
        return Error{Errc::invalid_input,
                     fmt::format("environment: {} has {} bytes; a variable holds at most {}", name,
                                 largest.size(), kVariableBytesMax)};
    }
    if (bytes <= kEnvironmentBytesMax) return {};
    return Error{Errc::invalid_input,
                 fmt::format("environment: {} bytes; a launch takes at most {} (the largest is {} "
                             "with {})",
                             bytes, kEnvironmentBytesMax, name, largest.size())};
}

Result<std::string> encode_environment(Environment const& environment) {
    OSORA_TRY_VOID(check_environment(environment));
    EnvironmentFile file;
    for (std::string const& entry : environment) file.variables.push_back({entry});
    return encode(file) + "\n";
}

Result<Environment> decode_environment(std::string_view text) {
    OSORA_TRY(auto const document, parse_json(text));
    OSORA_TRY(auto const file, from_json<EnvironmentFile>(document));
    if (file.schema != kSchema) {
        return Error{Errc::invalid_input, fmt::format("environment: schema '{}', expected {}",
                                                      file.schema.substr(0, 40), kSchema)};
    }
    Environment environment;
    for (Bytes const& entry : file.variables) environment.push_back(entry.value);
    OSORA_TRY_VOID(check_environment(environment));
    return environment;
}

Environment without_slurm_job(Environment const& environment) {
    Environment kept = environment;
    std::erase_if(kept, [](std::string const& entry) { return is_of_a_slurm_job(name_of(entry)); });
    return kept;
}

Environment for_sbatch(Environment const& environment) {
    constexpr std::array<std::string_view, 8> kKept{"PATH", "HOME",  "USER",       "LOGNAME",
                                                    "LANG", "SHELL", "KRB5CCNAME", "TZ"};
    Environment kept = without_slurm_job(environment);
    std::erase_if(kept, [&](std::string const& entry) {
        auto const name = name_of(entry);
        return !name.starts_with("SLURM_") && std::ranges::count(kKept, name) == 0;
    });
    return kept;
}

Environment entered(Environment submitted, Environment const& here) {
    for (std::string const& entry : here) {
        std::string_view const name = name_of(entry);
        if (!is_of_the_place(name)) continue;
        set_variable(submitted, name, std::string_view(entry).substr(name.size() + 1));
    }
    return submitted;
}

}  // namespace osora::protocol
