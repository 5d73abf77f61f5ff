// What looks like a secret, and how to report it without revealing it. A value is recognised by the
// name of its variable or by its own form; stored for comparison it is a digest, shown to a person
// it becomes "[redacted]". Pure.
#pragma once

#include "base/environment.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace osora {

inline constexpr std::string_view kRedacted = "[redacted]";

/// HF_TOKEN, wandb_api_key, DB_PASS...: in any case. Names that contain such a word but are known
/// to hold no secret (TOKENIZERS_PARALLELISM, NCCL_IB_PKEY) are excluded.
[[nodiscard]] bool is_secret_name(std::string_view name);

/// A URL with a password, a PEM block, or a token of a known service (hf_..., sk-..., ghp_...,
/// AKIA..., a JSON web token), anywhere in it.
[[nodiscard]] bool holds_token(std::string_view value);

/// Whether a variable is a secret: by its name, or by its value.
[[nodiscard]] bool is_secret(std::string_view name, std::string_view value);

/// "sha256:" and 12 hex digits of HMAC-SHA256 with `key`: equal values have equal digests under the
/// same key, and nobody can guess a value without the key.
[[nodiscard]] std::string secret_digest(std::string_view key, std::string_view value);
[[nodiscard]] bool is_secret_digest(std::string_view value);

/// The digest of a secret; other values, and digests, unchanged.
[[nodiscard]] std::string shown_value(std::string_view key, std::string_view name,
                                      std::string_view value);

/// Removes secrets from text: known values, and anything with the form of a secret.
class Redactor {
public:
    Redactor() = default;
    /// Values under 4 bytes and common words ("false") are not searched for: they occur everywhere.
    void add(std::string_view value);
    /// The secrets among the variables.
    void add(Environment const& environment);
    [[nodiscard]] std::string redact(std::string_view text) const;

private:
    std::vector<std::string> values_;  // longest first
};

}  // namespace osora
