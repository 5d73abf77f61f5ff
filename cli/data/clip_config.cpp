#include "cli/data/clip_config.hpp"

#include "base/text/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace osora::cli {

Result<plan::RunConfig> config_of_stage(plan::ResolvedConfig const& resolved,
                                        Arguments const& arguments) {
    OSORA_TRY(auto const stage, arguments.number("--stage", 0, 1'000'000));
    if (!stage) return resolved.config;
    std::size_t const count = resolved.stages.size();
    if (static_cast<std::size_t>(*stage) < count)
        return resolved.stages[static_cast<std::size_t>(*stage)].config;
    return invalid(fmt::format(
        "--stage {}: {}", *stage,
        count == 0 ? "the run file has no [[stage]]; leave the option out"
                   : fmt::format("the run file has {}; nearest valid: {}",
                                 counted(static_cast<std::int64_t>(count), "stage"), count - 1)));
}

Result<void> check_reads_clips(plan::RunConfig const& config) {
    constexpr std::array kReaders{"train", "train_vae", "train_vqvae", "encode"};
    if (std::ranges::find(kReaders, config.run.job) == kReaders.end()) {
        return invalid(fmt::format(
            "run.job = \"{}\": puts no clips into buckets; train, train_vae, train_vqvae and "
            "encode do",
            config.run.job));
    }
    if (config.run.job == "train" && !config.data.latents.empty()) {
        return invalid(
            fmt::format("data.latents = \"{}\": training takes the buckets of this "
                        "cache; plan the run file of the encode job that made it, or "
                        "--set 'data.latents=\"\"'",
                        config.data.latents));
    }
    if (config.data.manifest.empty())
        return invalid("data.manifest is empty: name the list of clips");
    return {};
}

}  // namespace osora::cli
