#include "worker/jobs/encode/encode_text.hpp"

#include "worker/cache/text_shard.hpp"
#include "worker/train/step_boundary.hpp"

#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/stack.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <span>

namespace osora::worker {
namespace {

using Clock = std::chrono::steady_clock;

/// The captions of one shard, in its order, and what came of them.
struct ShardTexts {
    std::vector<CaptionTokens> tokens;
    std::vector<at::Tensor> embeddings;  // (L, channels) on the CPU
    std::vector<PaddedTokens> clip;      // CLIP's, if it encodes
    std::vector<at::Tensor> pooled;      // (V) on the CPU, likewise
    std::vector<std::size_t> by_length;  // order of work: equal lengths together
};

ShardTexts texts_of(EncodePlan const& plan, Encoders const& encoders, std::size_t shard) {
    ShardTexts texts;
    for (Caption const& caption : plan.captions[shard]) {
        auto const text = plan.text_of(caption);
        texts.tokens.push_back(encoders.text->tokens(text));
        if (encoders.pooled) texts.clip.push_back(encoders.pooled->tokens(text));
    }
    texts.pooled.resize(texts.clip.size());
    texts.embeddings.resize(texts.tokens.size());
    texts.by_length.resize(texts.tokens.size());
    std::iota(texts.by_length.begin(), texts.by_length.end(), 0);
    std::ranges::stable_sort(texts.by_length, {},
                             [&](std::size_t i) { return texts.tokens[i].ids.size(); });
    return texts;
}

/// CLIP's vectors of `part`; all its captions have one length.
void pool_step(ShardTexts& texts, std::span<std::size_t const> part, PooledEncoder const& encoder,
               at::ScalarType type) {
    std::vector<PaddedTokens> tokens;
    for (std::size_t const i : part) tokens.push_back(texts.clip[i]);
    at::Tensor const out = encoder.encode(tokens).to(type).to(at::kCPU);
    for (std::size_t i = 0; i < part.size(); ++i)
        texts.pooled[part[i]] = out[static_cast<std::int64_t>(i)];
}

/// Encodes `part` of by_length: a pass of T5 for each length in it.
Result<void> encode_step(ShardTexts& texts, std::span<std::size_t const> part,
                         Encoders const& encoders, at::ScalarType type) {
    if (encoders.pooled) pool_step(texts, part, *encoders.pooled, type);
    while (!part.empty()) {
        auto const length = texts.tokens[part[0]].ids.size();
        auto const end = std::ranges::find_if(
            part, [&](std::size_t i) { return texts.tokens[i].ids.size() != length; });
        auto const group = part.first(static_cast<std::size_t>(end - part.begin()));
        std::vector<CaptionTokens> alike;
        for (std::size_t const i : group) alike.push_back(texts.tokens[i]);
        at::Tensor const out = encoders.text->encode(alike).to(type).to(at::kCPU);
        for (std::size_t i = 0; i < group.size(); ++i)
            texts.embeddings[group[i]] = out[static_cast<std::int64_t>(i)];
        part = part.subspan(group.size());
    }
    return {};
}

TextRows rows_of(std::vector<Caption> const& captions, ShardTexts const& texts) {
    auto const count = static_cast<std::int64_t>(captions.size());
    TextRows rows;
    rows.caption = at::empty({count}, at::kLong);
    rows.offset = at::empty({count + 1}, at::kLong);
    auto* const hash = rows.caption.mutable_data_ptr<std::int64_t>();
    auto* const offset = rows.offset.mutable_data_ptr<std::int64_t>();
    offset[0] = 0;
    for (std::size_t i = 0; i < captions.size(); ++i) {
        hash[i] = captions[i].hash;
        offset[i + 1] = offset[i] + texts.embeddings[i].size(0);
    }
    rows.embedding = at::cat(texts.embeddings);
    if (!texts.pooled.empty()) rows.pooled = at::stack(texts.pooled);
    return rows;
}

/// false: stopped before its end, and nothing is written.
Result<bool> encode_shard(EncodePlan const& plan, Encoders const& encoders, std::size_t shard,
                          EncodeSteps& steps) {
    ShardTexts texts = texts_of(plan, encoders, shard);
    auto const type = cache_type(plan.text_format.dtype);
    std::span<std::size_t const> left = texts.by_length;
    while (!left.empty()) {
        if (steps.stopped()) return false;
        auto const part = left.first(std::min(kCaptionsAtOnce, left.size()));
        steps.begin();
        auto const start = Clock::now();
        OSORA_TRY_VOID(at_step_boundary(fmt::format("encode step {}", steps.next_step()),
                                        [&] { return encode_step(texts, part, encoders, type); }));
        std::chrono::duration<double> const work = Clock::now() - start;
        steps.end("captions", static_cast<std::int64_t>(part.size()), work.count());
        left = left.subspan(part.size());
    }
    auto const cut = std::ranges::count_if(texts.tokens, &CaptionTokens::cut);
    if (cut > 0) {
        steps.notice("captions_cut",
                     fmt::format("{} of {} captions of {} are longer than text.max_tokens = {}",
                                 cut, texts.tokens.size(), plan.text_path(shard).string(),
                                 plan.text_format.max_tokens));
    }
    auto const clip_cut = std::ranges::count_if(texts.clip, &PaddedTokens::cut);
    if (clip_cut > 0) {
        steps.notice("captions_cut",
                     fmt::format("{} of {} captions of {} are longer than CLIP's {} tokens: their "
                                 "pooled vectors are of the beginning",
                                 clip_cut, texts.clip.size(), plan.text_path(shard).string(),
                                 texts.clip.front().ids.size()));
    }
    ShardMark const mark{plan.settings, static_cast<std::int64_t>(shard)};
    OSORA_TRY_VOID(
        write_text_shard(plan.text_path(shard), rows_of(plan.captions[shard], texts), mark));
    return true;
}

}  // namespace

Result<void> encode_captions(EncodePlan const& plan, Encoders const& encoders,
                             std::vector<std::size_t> const& open, EncodeSteps& steps) {
    for (std::size_t const shard : open) {
        OSORA_TRY(bool const whole, encode_shard(plan, encoders, shard, steps));
        if (!whole) return {};
    }
    return {};
}

}  // namespace osora::worker
