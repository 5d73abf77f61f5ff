// Text to token ids as T5's tokenizer makes them (Hugging Face's T5Tokenizer on a SentencePiece
// model, spiece.model). No LibTorch.
#pragma once

#include "base/result.hpp"
#include "worker/text/padded_tokens.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string_view>
#include <vector>

namespace osora::worker {

constexpr std::int64_t kT5Pad = 0;
constexpr std::int64_t kT5Eos = 1;
constexpr std::int64_t kT5Unknown = 2;
constexpr int kT5ExtraIds = 100;  // <extra_id_0> .. <extra_id_99>, after the model's pieces

class T5Tokenizer {
public:
    /// Errors: not_found, invalid_input (no SentencePiece model, or not T5's: its pad, eos and
    /// unknown pieces must be 0, 1 and 2).
    [[nodiscard]] static Result<T5Tokenizer> open(std::filesystem::path const& model);
    T5Tokenizer(T5Tokenizer&&) noexcept;
    T5Tokenizer& operator=(T5Tokenizer&&) noexcept;
    ~T5Tokenizer();

    /// All tokens and kT5Eos. Bytes that are no UTF-8 are unknown; "</s>", "<pad>", "<unk>" and
    /// "<extra_id_N>" in the text are those tokens.
    [[nodiscard]] std::vector<std::int64_t> encode(std::string_view text) const;

    /// At most max_length - 1 tokens, kT5Eos, padding up to max_length; max_length >= 1. 300 is
    /// what Open-Sora 1.2 takes.
    [[nodiscard]] PaddedTokens encode_padded(std::string_view text,
                                             std::size_t max_length = 300) const;

    /// Pieces of the model and the extra ids.
    [[nodiscard]] std::int64_t vocab_size() const;

private:
    class Model;
    explicit T5Tokenizer(std::unique_ptr<Model> model);
    std::unique_ptr<Model> model_;
};

}  // namespace osora::worker
