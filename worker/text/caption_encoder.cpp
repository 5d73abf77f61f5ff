#include "worker/text/caption_encoder.hpp"

#include "base/check.hpp"
#include "base/files/files.hpp"
#include "base/sha256.hpp"
#include "worker/model/weights/fingerprint.hpp"
#include "worker/text/t5_files.hpp"

#include <ATen/ops/empty.h>
#include <fmt/format.h>

#include <algorithm>

namespace osora::worker {

Result<CaptionEncoder> CaptionEncoder::open(std::filesystem::path const& folder,
                                            CaptionLimits const& limits,
                                            at::TensorOptions const& options) {
    auto const model = folder / "spiece.model";
    OSORA_TRY(auto tokenizer, T5Tokenizer::open(model));
    OSORA_TRY(auto const pieces, read_file(model));
    OSORA_TRY(auto encoder, load_t5(folder, options));
    if (tokenizer.vocab_size() > encoder.config().vocab_size) {
        return Error{
            Errc::invalid_input,
            fmt::format("{}: it has {} tokens, the encoder's vocab_size is {}", model.string(),
                        tokenizer.vocab_size(), encoder.config().vocab_size)};
    }
    CaptionEncoder made(std::move(encoder), std::move(tokenizer), limits);
    made.fingerprint_ = fingerprint_of(
        made.encoder_.parameters(),
        fmt::format("{} {} {}", sha256_hex(pieces), limits.max_tokens, limits.padded));
    return made;
}

CaptionTokens CaptionEncoder::tokens(std::string_view text) const {
    auto padded = tokenizer_.encode_padded(text, static_cast<std::size_t>(limits_.max_tokens));
    if (!limits_.padded) {
        auto const used = std::ranges::count_if(padded.mask, [](auto each) { return each != 0; });
        padded.ids.resize(static_cast<std::size_t>(used));
    }
    return {std::move(padded.ids), padded.cut};
}

at::Tensor CaptionEncoder::encode(std::span<CaptionTokens const> captions) const {
    OSORA_CHECK(!captions.empty() && !captions[0].ids.empty());
    auto const length = static_cast<std::int64_t>(captions[0].ids.size());
    at::Tensor const ids =
        at::empty({static_cast<std::int64_t>(captions.size()), length}, at::kLong);
    auto* out = ids.mutable_data_ptr<std::int64_t>();
    for (auto const& caption : captions) {
        OSORA_CHECK_EQ(static_cast<std::int64_t>(caption.ids.size()), length);
        out = std::ranges::copy(caption.ids, out).out;
    }
    auto const device = encoder_.parameters().all().front().tensor.device();
    return encoder_(ids.to(device), {});
}

}  // namespace osora::worker
