#include "worker/text/pooled_encoder.hpp"

#include "base/check.hpp"
#include "worker/model/weights/fingerprint.hpp"

#include <ATen/ops/empty.h>
#include <fmt/format.h>

#include <algorithm>

namespace osora::worker {

Result<PooledEncoder> PooledEncoder::open(std::filesystem::path const& folder,
                                          at::TensorOptions const& options) {
    OSORA_TRY(auto tokenizer, ClipTokenizer::open(folder));
    OSORA_TRY(auto encoder, load_clip_text(folder, options));
    if (tokenizer.vocab_size() > encoder.config().vocab_size) {
        return Error{Errc::invalid_input,
                     fmt::format("{}: it has {} tokens, the encoder's vocab_size is {}",
                                 (folder / "vocab.json").string(), tokenizer.vocab_size(),
                                 encoder.config().vocab_size)};
    }
    PooledEncoder made(std::move(encoder), std::move(tokenizer));
    made.fingerprint_ = fingerprint_of(made.encoder_.parameters(), made.tokenizer_.fingerprint());
    return made;
}

PaddedTokens PooledEncoder::tokens(std::string_view text) const {
    auto const places = static_cast<std::size_t>(encoder_.config().max_position_embeddings);
    return tokenizer_.encode_padded(text, std::clamp(places, std::size_t{2}, kClipTokens));
}

at::Tensor PooledEncoder::encode(std::span<PaddedTokens const> captions) const {
    OSORA_CHECK(!captions.empty());
    auto const length = static_cast<std::int64_t>(captions[0].ids.size());
    at::Tensor const ids =
        at::empty({static_cast<std::int64_t>(captions.size()), length}, at::kLong);
    auto* out = ids.mutable_data_ptr<std::int64_t>();
    for (auto const& caption : captions) {
        OSORA_CHECK_EQ(static_cast<std::int64_t>(caption.ids.size()), length);
        out = std::ranges::copy(caption.ids, out).out;
    }
    return encoder_(ids, {}).pooled;
}

}  // namespace osora::worker
