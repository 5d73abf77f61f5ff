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
Result<std::vector<fs::path>> candidates(plan::WorkerJob const& job) {
    std::string const& resume = job.config.checkpoint.resume;
    OSORA_TRY(auto own, read_checkpoints(fs::path(job.run_dir) / "checkpoints"));
    if (!own.empty() || resume == "auto" || resume == "none") return own;
    fs::path const given = resolve(job, resume);
    auto several = list_checkpoints(given);
    return several.empty() ? std::vector{given} : several;
}

/// Peers wait meanwhile.
FileWait wait_of(ResumeContext const& context) {
    return file_wait(context.agent, "checkpoint_unreadable",
                     loader_options(context.job).wait_for_files_s);
}

/// What there is to continue from. `why`: the folder cannot be read, or its newest checkpoint.
struct Found {
    std::vector<fs::path> paths;
    std::optional<LoadedCheckpoint> newest;
    std::optional<Error> why;
};

Found look_for(plan::WorkerJob const& job) {
    Found found;
    auto paths = candidates(job);
    if (paths.has_error()) {
        found.why = std::move(paths).error();
        return found;
    }
    found.paths = std::move(*paths);
    if (found.paths.empty()) return found;
    auto newest = load_checkpoint(found.paths.front());
    if (newest.has_error()) {
        found.why = std::move(newest).error();
    } else {
        found.newest = std::move(*newest);
    }
    return found;
}

/// A folder that cannot be read must not look like one without checkpoints: the run would start
/// over. A file system that is away may come back. Errors: cancelled.
Result<Found> look_in_time(ResumeContext const& context) {
    Found found;
    auto const looked = open_in_time(wait_of(context), [&]() -> Result<void> {
        found = look_for(context.job);
        if (found.why) return *found.why;
        return {};
    });
    if (looked.has_error() && looked.error().code == Errc::cancelled) return looked.error();
    return found;
}

Result<Choice> newest_readable(ResumeContext const& context) {
    OSORA_TRY(auto found, look_in_time(context));
    auto const& paths = found.paths;
    if (found.newest) return Choice{paths.front(), std::move(found.newest)};
    if (paths.empty() && found.why) return *found.why;
    if (paths.empty()) return Choice{};
    auto const say = [&](std::string const& why) {
        context.agent.send(protocol::WorkerNotice{
            .kind = "checkpoint_unreadable", .severity = "error", .step = 0, .detail = why});
    };
    say(found.why->message);
    for (std::size_t i = 1; i < paths.size(); ++i) {
        auto loaded = load_checkpoint(paths[i]);
        if (loaded.has_value()) return Choice{paths[i], std::move(*loaded)};
        say(loaded.error().message);
    }
    return Error{Errc::corrupt, fmt::format("none of {} checkpoints in {} reads back", paths.size(),
                                            paths[0].parent_path().string())};
}

/// What the store says: the path, or the error after one of these.
constexpr char kFailed = '!', kStopped = '?';

std::string said_of(Result<Choice> const& choice) {
    if (choice.has_value()) return choice->path.string();
    char const mark = choice.error().code == Errc::cancelled ? kStopped : kFailed;
    return mark + choice.error().message;
}

/// Of another rank than 0, whose file system may be away alone.
Result<Choice> chosen_by_first(ResumeContext const& context, std::string const& said) {
    if (said.empty()) return Choice{};
    if (said.front() == kFailed) return Error{Errc::corrupt, said.substr(1)};
    if (said.front() == kStopped) return Error{Errc::cancelled, said.substr(1)};
    OSORA_TRY(auto loaded, open_in_time(wait_of(context), [&] { return load_checkpoint(said); }));
    return Choice{said, std::move(loaded)};
}

/// Rank 0 chooses; the others hear of it through the store.
Result<Choice> agree(ResumeContext const& context) {
    std::string const key = fmt::format("resume/{}", context.self.attempt);
    bool const alone = !context.group || context.group->world_size() == 1;
    try {
        if (context.self.rank == 0) {
            auto choice = newest_readable(context);
            std::string const said = said_of(choice);
            if (!alone) {
                context.group->store().set(key,
                                           std::vector<std::uint8_t>(said.begin(), said.end()));
            }
            return choice;
        }
        auto const heard = context.group->store().get(key);
        return chosen_by_first(context, std::string(heard.begin(), heard.end()));
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
