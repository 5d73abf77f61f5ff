#include "plan/autoencoder/autoencoder_memory.hpp"

#include "base/text/units.hpp"
#include "plan/vae/training_memory.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace osora::plan {
namespace {

constexpr int kPublishedChunk = 17;  // frames per chunk of the temporal VAE: its latents depend on
                                     // it

bool is_vqvae(PlanContext const& context) {
    return context.config.run.job == "train_vqvae";
}

VaePipelineConfig sizes_of(PlanContext const& context, Pieces const& pieces) {
    VaePipelineConfig sizes = vae_sizes(context.config.vae.arch).value();
    sizes.micro_batch_size = pieces.micro_batch_size;
    sizes.micro_frame_size = pieces.micro_frame_size;
    sizes.tile_sample_min_size = context.config.vae.tile_sample_min_size;
    return sizes;
}

struct Counts {
    std::int64_t all = 0, trainable = 0;
};

Counts parameters_of(PlanContext const& context) {
    if (is_vqvae(context)) {
        std::int64_t const count = vqvae_parameters(context.config.vqvae);
        return {count, count};
    }
    VaePipelineConfig const sizes = sizes_of(context, {});
    std::int64_t const in_time = temporal_parameters(sizes.temporal);
    std::int64_t const all = in_time + spatial_parameters(sizes.spatial);
    return {all, context.config.vae_loss.freeze_2d ? in_time : all};
}

/// Largest first: the order in which they are tried.
std::vector<Pieces> candidates(PlanContext const& context) {
    auto const& section = context.config.vae;
    int longest = 1;
    for (BucketKey const& key : context.keys) longest = std::max(longest, key.num_frames);
    std::vector<Pieces> found;
    if (is_vqvae(context)) {
        if (!section.micro_frame_size.is_auto()) return {{0, *section.micro_frame_size.value}};
        found.push_back({});
        int const least = context.config.vqvae.downsample_frames;
        for (int frames = 1 << 16; frames >= least; frames /= 2)
            if (frames < longest) found.push_back({0, frames});
        return found;
    }
    std::vector<int> chunks{section.micro_frame_size.value_or(kPublishedChunk)};
    if (section.micro_frame_size.is_auto())
        for (int const shorter : {12, 8, 4}) chunks.push_back(shorter);
    for (int const chunk : chunks) {
        if (!section.micro_batch_size.is_auto()) {
            found.push_back({*section.micro_batch_size.value, chunk});
            continue;
        }
        found.push_back({0, chunk});
        for (int const frames : {16, 8, 4, 2, 1})
            if (frames < longest) found.push_back({frames, chunk});
    }
    return found;
}

std::string named(PlanContext const& context, Pieces const& pieces) {
    std::string text;
    if (pieces.micro_batch_size > 0)
        text = fmt::format("vae.micro_batch_size {}", pieces.micro_batch_size);
    bool const cut = pieces.micro_frame_size > 0 &&
                     (is_vqvae(context) || pieces.micro_frame_size != kPublishedChunk);
    if (cut)
        text += fmt::format("{}vae.micro_frame_size {}", text.empty() ? "" : ", ",
                            pieces.micro_frame_size);
    return text;
}

std::string gib_text(std::int64_t bytes) {
    double const value = gib(bytes);
    return fmt::format("{:.{}f}", value, value < 9.95 ? 2 : 1);
}

/// The worst bucket with these samples and pieces.
PieceChoice worst_of(PlanContext const& context, std::vector<std::int64_t> samples,
                     Pieces const& pieces) {
    PieceChoice choice{pieces, std::move(samples), {}, 0, {}};
    for (std::size_t i = 0; i < context.keys.size(); ++i) {
        RankMemory const memory = autoencoder_memory(context, i, choice.samples[i], pieces);
        if (memory.tensor_bytes() <= choice.peak.tensor_bytes()) continue;
        choice.peak = memory;
        choice.peak_bucket = i;
    }
    return choice;
}

std::string reason_of(PlanContext const& context, PieceChoice const& choice,
                      std::optional<std::int64_t> limit) {
    std::string const of = limit ? fmt::format(" of {}", gib_text(*limit)) : std::string();
    std::string const what = named(context, choice.pieces);
    if (what.empty())
        return fmt::format("fits without pieces: {}{} GiB a rank ({})",
                           gib_text(choice.peak.tensor_bytes()), of,
                           context.bucket_name(choice.peak_bucket));
    auto const whole = worst_of(context, choice.samples, Pieces{});
    auto const& section = context.config.vae;
    bool const yours = !section.micro_batch_size.is_auto() || !section.micro_frame_size.is_auto();
    return fmt::format("fits: {}{} GiB a rank with {}{} ({}); without it {} GiB",
                       gib_text(choice.peak.tensor_bytes()), of, what, yours ? " (set by you)" : "",
                       context.bucket_name(choice.peak_bucket),
                       gib_text(whole.peak.tensor_bytes()));
}

/// Samples of each bucket in one forward that fit with `pieces`; nothing if one bucket does not
/// fit.
std::optional<std::vector<std::int64_t>> fitting_samples(PlanContext const& context,
                                                         std::vector<std::int64_t> const& local,
                                                         std::optional<std::int64_t> limit,
                                                         Pieces const& pieces) {
    std::vector<std::int64_t> samples;
    for (std::size_t i = 0; i < context.keys.size(); ++i) {
        auto const& given = context.config.bucket[i].micro_batch_size;
        std::int64_t most = 0;
        for (std::int64_t count = 1; count <= local[i]; ++count) {
            if (local[i] % count != 0 || (!given.is_auto() && count != *given.value)) continue;
            // Pieces limit the memory of one sample; more samples at a time would gain nothing.
            if (given.is_auto() && count > 1 && pieces != Pieces{0, pieces.micro_frame_size})
                continue;
            auto const bytes = autoencoder_memory(context, i, count, pieces).tensor_bytes();
            if (!limit || bytes <= *limit) most = count;
        }
        if (most == 0) return std::nullopt;
        samples.push_back(most);
    }
    return samples;
}

}  // namespace

RankMemory autoencoder_memory(PlanContext const& context, std::size_t bucket, std::int64_t samples,
                              Pieces const& pieces) {
    constexpr std::int64_t kFloat = 4;
    MemoryConstants const constants;
    BucketKey const& key = context.peak_keys[bucket];
    VaeClip const clip{samples, key.num_frames, key.height, key.width};
    Counts const counts = parameters_of(context);
    RankMemory memory;
    memory.process_bytes = context.gpu ? constants.gpu_context_bytes : constants.cpu_process_bytes;
    memory.parameter_bytes = kFloat * counts.all;
    memory.gradient_bytes = kFloat * counts.trainable;
    memory.optimizer_bytes = 2 * kFloat * counts.trainable;
    memory.ema_bytes = context.config.optim.ema_decay > 0 ? kFloat * counts.trainable : 0;
    memory.communication_bytes = context.ranks > 1 ? kFloat * counts.trainable : 0;
    std::int64_t const peak =
        is_vqvae(context)
            ? vqvae_training_peak(context.config.vqvae, pieces.micro_frame_size, clip)
            : vae_training_peak(sizes_of(context, pieces), context.config.vae_loss, clip);
    memory.activation_bytes =
        static_cast<std::int64_t>(constants.vae_factor * static_cast<double>(kFloat * peak));
    memory.input_bytes = kFloat * 3 * samples * key.num_frames * key.height * key.width;
    return memory;
}

Result<PieceChoice> choose_pieces(PlanContext const& context,
                                  std::vector<std::int64_t> const& local,
                                  std::optional<std::int64_t> limit_bytes) {
    auto const tried = candidates(context);
    for (Pieces const& pieces : tried) {
        auto const samples = fitting_samples(context, local, limit_bytes, pieces);
        if (!samples) continue;
        PieceChoice choice = worst_of(context, *samples, pieces);
        choice.reason = reason_of(context, choice, limit_bytes);
        return choice;
    }
    std::vector<std::int64_t> ones;
    for (auto const& bucket : context.config.bucket)
        ones.push_back(bucket.micro_batch_size.value_or(1));
    auto const least = worst_of(context, ones, tried.back());
    std::string const what = named(context, least.pieces);
    return Error{Errc::out_of_memory,
                 fmt::format("bucket {}: needs {} a rank{}{}, {} has {}; take fewer frames or "
                             "smaller ones",
                             context.bucket_name(least.peak_bucket),
                             format_bytes(least.peak.tensor_bytes()), what.empty() ? "" : " with ",
                             what, context.gpu ? "a GPU" : "its share of this machine",
                             format_bytes(std::max<std::int64_t>(0, limit_bytes.value_or(0))))};
}

}  // namespace osora::plan
