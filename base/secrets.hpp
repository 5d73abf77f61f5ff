// What looks like a secret, and how it is told of without telling it. A value is known by the name
// of its variable or by its own form; what is kept for comparison is a digest, what only a person
// reads becomes "[redacted]". Pure.
#pragma once

#include "base/environment.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace osora {

inline constexpr std::string_view kRedacted = "[redacted]";

/// HF_TOKEN, wandb_api_key, DB_PASS...: in any case. Names that hold such a word and are known to
/// hold no secret (TOKENIZERS_PARALLELISM, NCCL_IB_PKEY) are left out.
[[nodiscard]] bool is_secret_name(std::string_view name);

/// A URL with a password, a PEM block, or a token of a known service (hf_..., sk-..., ghp_...,
/// AKIA..., a JSON web token), anywhere in it.
[[nodiscard]] bool holds_token(std::string_view value);

/// Of a variable: by its name, or by its value.
[[nodiscard]] bool is_secret(std::string_view name, std::string_view value);

/// "sha256:" and 12 hex digits of HMAC-SHA256 with `key`: equal values stay equal where the key is
/// the same, and cannot be guessed without it.
[[nodiscard]] std::string secret_digest(std::string_view key, std::string_view value);
[[nodiscard]] bool is_secret_digest(std::string_view value);

/// The digest of a secret, other values as they are. A digest is kept.
[[nodiscard]] std::string shown_value(std::string_view key, std::string_view name,
                                      std::string_view value);

/// Text without secrets: values that are known, and what has the form of one.
class Redactor {
public:
    Redactor() = default;
    /// Values under 4 bytes and common words ("false") are not looked for: they stand everywhere.
    void add(std::string_view value);
    /// The secrets among the variables.
    void add(Environment const& environment);
    [[nodiscard]] std::string redact(std::string_view text) const;

private:
    std::vector<std::string> values_;  // longest first
};

}  // namespace osora
