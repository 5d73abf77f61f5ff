// Text to token ids as CLIP's tokenizer makes them (openai/CLIP's byte-level BPE as transformers'
// CLIPTokenizer reads it: vocab.json and merges.txt). No LibTorch.
#pragma once

#include "base/result.hpp"
#include "worker/text/padded_tokens.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace osora::worker {

constexpr std::size_t kClipTokens = 77;  // start and end included

class ClipTokenizer {
public:
    /// `folder`: vocab.json and merges.txt. Errors: not_found; invalid_input names the file, and
    /// the wrong line or token, also if merges.txt lacks lines of the vocabulary.
    [[nodiscard]] static Result<ClipTokenizer> open(std::filesystem::path const& folder);

    /// <|startoftext|>, all tokens, <|endoftext|>. Invalid UTF-8 bytes count as U+FFFD; the two
    /// names written in a text become those tokens.
    [[nodiscard]] std::vector<std::int64_t> encode(std::string_view text) const;

    /// Start, at most max_length - 2 tokens, end, and end tokens as padding; max_length >= 2.
    [[nodiscard]] PaddedTokens encode_padded(std::string_view text,
                                             std::size_t max_length = kClipTokens) const;

    [[nodiscard]] std::int64_t vocab_size() const { return vocab_size_; }
    [[nodiscard]] std::int64_t end_token() const { return end_; }
    /// Hash of both files.
    [[nodiscard]] std::string const& fingerprint() const { return fingerprint_; }

private:
    struct Merge {
        std::int64_t rank = 0;
        std::int64_t merged = 0;
    };
    using Vocabulary = std::unordered_map<std::string, std::int64_t>;

    ClipTokenizer() = default;
    Result<void> read_bytes(Vocabulary const& vocabulary);
    Result<void> read_merges(std::string_view text, Vocabulary const& vocabulary);
    [[nodiscard]] Merge const* merge_of(std::int64_t left, std::int64_t right) const;
    void add_word(std::string_view bytes, std::vector<std::int64_t>& ids) const;
    void add_text(std::string_view text, std::vector<std::int64_t>& ids) const;

    std::array<std::int64_t, 256> inner_{}, last_{};   // of a byte: within a word, at its end
    std::unordered_map<std::uint64_t, Merge> merges_;  // by left << 32 | right
    std::int64_t vocab_size_ = 0, start_ = 0, end_ = 0;
    std::string fingerprint_;
};

}  // namespace osora::worker
