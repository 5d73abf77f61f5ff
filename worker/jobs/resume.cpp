#include "worker/jobs/resume.hpp"

#include "plan/model/trained_model.hpp"
#include "worker/jobs/loading_signs.hpp"
#include "worker/jobs/train_data.hpp"
#include "worker/model/weights/same_weights.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include <algorithm>
#include <exception>
#include <filesystem>

namespace osora::worker {
namespace {

namespace fs = std::filesystem;

struct Choice {
    fs::path path;  // empty: start from step 0
    std::optional<LoadedCheckpoint> loaded;
};

/// checkpoint.resume = "auto" looks in the run directory, "none" nowhere, else it is a folder (of
/// one checkpoint, or of several).
std::vector<fs::path> candidates(plan::WorkerJob const& job) {
    std::string const& resume = job.config.checkpoint.resume;
    auto own = list_checkpoints(fs::path(job.run_dir) / "checkpoints");
    if (!own.empty() || resume == "auto" || resume == "none") return own;
    fs::path const given = resolve(job, resume);
    auto several = list_checkpoints(given);
    return several.empty() ? std::vector{given} : several;
}

Result<Choice> newest_readable(ResumeContext const& context) {
    auto const paths = candidates(context.job);
    for (fs::path const& path : paths) {
        auto loaded = load_checkpoint(path);
        if (loaded.has_value()) return Choice{path, std::move(*loaded)};
        context.agent.send(protocol::WorkerNotice{.kind = "checkpoint_unreadable",
                                                  .severity = "error",
                                                  .step = 0,
                                                  .detail = loaded.error().message});
    }
    if (!paths.empty()) {
        return Error{Errc::corrupt, fmt::format("none of {} checkpoints in {} reads back",
                                                paths.size(), paths[0].parent_path().string())};
    }
    return Choice{};
}

/// Rank 0 chooses; the others hear of it through the store.
Result<Choice> agree(ResumeContext const& context) {
    std::string const key = fmt::format("resume/{}", context.self.attempt);
    bool const alone = !context.group || context.group->world_size() == 1;
    try {
        if (context.self.rank == 0) {
            auto choice = newest_readable(context);
            std::string const said =
                choice.has_error() ? "!" + choice.error().message : choice->path.string();
            if (!alone) {
                context.group->store().set(key,
                                           std::vector<std::uint8_t>(said.begin(), said.end()));
            }
            return choice;
        }
        auto const heard = context.group->store().get(key);
        std::string const path(heard.begin(), heard.end());
        if (path.empty()) return Choice{};
        if (path.front() == '!') return Error{Errc::corrupt, path.substr(1)};
        OSORA_TRY(auto loaded, load_checkpoint(path));
        return Choice{path, std::move(loaded)};
    } catch (std::exception const& error) {
        return Error{Errc::unreachable, fmt::format("store: {}", error.what())};
    }
}

/// A checkpoint of adapters has no other weights: those of model.init count as what they were
/// trained on. Its path is absolute; one of an older checkpoint is as its run file had it.
Result<void> check_base(ResumeContext const& context, CheckpointState const& state,
                        fs::path const& path) {
    std::string const &theirs = state.model.init, &ours = context.job.config.model.init;
    // Older checkpoints do not say it.
    if (context.job.config.optim.lora_rank == 0 || theirs.empty() || theirs == ours) return {};
    auto const same = ours.empty()
                          ? SameWeights::no
                          : same_weights(resolve(context.job, theirs), resolve(context.job, ours));
    if (same == SameWeights::no) {
        return Error{Errc::invalid_input,
                     fmt::format("{}: model.init is {}, this run has {}: its adapters were trained "
                                 "on other weights; set model.init = \"{}\", or submit a run that "
                                 "starts over",
                                 path.string(), theirs, ours.empty() ? "none" : ours, theirs)};
    }
    if (same == SameWeights::unknown && context.self.rank == 0) {
        context.agent.send(protocol::WorkerNotice{
            .kind = "adapter_base",
            .severity = "warning",
            .step = state.step,
            .detail = fmt::format("{}: its adapters were trained on model.init = \"{}\", and go on "
                                  "with \"{}\"; whether these are the same weights cannot be seen",
                                  path.string(), theirs, ours)});
    }
    return {};
}

Result<void> check_same_work(ResumeContext const& context, CheckpointState const& state,
                             fs::path const& path) {
    auto differs = [&](std::string const& what, auto const& theirs, auto const& ours) {
        return Error{Errc::invalid_input,
                     fmt::format("{}: {} is {}, this run has {}; a newly submitted run starts "
                                 "over (with checkpoint.resume = \"auto\" or \"none\")",
                                 path.string(), what, theirs, ours)};
    };
    auto const& config = context.job.config;
    std::string const arch = plan::trained_arch(config);
    if (state.arch != arch) return differs("arch", state.arch, arch);
    if (state.lora_rank != config.optim.lora_rank) {
        return differs("optim.lora_rank", state.lora_rank, config.optim.lora_rank);
    }
    OSORA_TRY_VOID(check_base(context, state, path));
    if (state.seed != config.train.seed) return differs("seed", state.seed, config.train.seed);
    // Stage of the last step done: at the border of two stages that is the earlier one.
    OSORA_TRY(auto const* const data, context.data_of(std::max(0, state.step - 1)));
    if (state.schedule_hash != data->hash) {
        return differs("the hash of clips, buckets and batches", state.schedule_hash, data->hash);
    }
    auto const shown = [](std::vector<double> const& each) {
        return fmt::format("{}", fmt::join(each, ", "));
    };
    if (!state.keep_probs.empty() && state.keep_probs != data->keep_probs)
        return differs("keep_prob of the buckets", shown(state.keep_probs),
                       shown(data->keep_probs));
    return {};
}

}  // namespace

Result<int> restore_latest(ResumeContext const& context, Trainer& trainer) {
    OSORA_TRY(auto const choice, agree(context));
    if (!choice.loaded) return 0;
    OSORA_TRY_VOID(check_same_work(context, choice.loaded->state, choice.path));
    auto const restored = trainer.restore(*choice.loaded, LoadingSigns(context.agent));
    if (restored.has_error()) return Error(restored.error()).in(choice.path.string());
    return choice.loaded->state.step;
}

}  // namespace osora::worker
