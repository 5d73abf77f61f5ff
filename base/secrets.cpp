#include "base/secrets.hpp"

#include "base/check.hpp"
#include "base/text/text.hpp"

#include <fmt/format.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <array>
#include <optional>

namespace osora {
namespace {

constexpr std::string_view kDigestPrefix = "sha256:";
constexpr std::size_t kDigestDigits = 12;

// Anywhere in a name.
constexpr std::array<std::string_view, 12> kSecretWords{
    "token",  "key",     "secret",     "password", "passwd", "passphrase",
    "cookie", "private", "credential", "auth",     "bearer", "webhook"};
// A whole part of a name, between '_', '-' or '.'.
constexpr std::array<std::string_view, 5> kSecretParts{"pass", "pwd", "jwt", "dsn", "sas"};
constexpr std::array<std::string_view, 3> kHarmlessNames{"tokenizers_parallelism", "pwd", "oldpwd"};
constexpr std::string_view kPartitionKey = "_pkey";  // of InfiniBand: an index

/// The prefix of a token, and its least number of further characters.
struct TokenForm {
    std::string_view prefix;
    std::size_t more;
    std::string_view beside_letters;  // allowed characters besides letters and digits
};
constexpr std::array kTokenForms{
    TokenForm{"hf_", 8, ""},      TokenForm{"sk-", 8, "-_"},       TokenForm{"sk_live_", 8, ""},
    TokenForm{"ghp_", 8, ""},     TokenForm{"gho_", 8, ""},        TokenForm{"ghu_", 8, ""},
    TokenForm{"ghs_", 8, ""},     TokenForm{"ghr_", 8, ""},        TokenForm{"github_pat_", 8, "_"},
    TokenForm{"glpat-", 8, "-_"}, TokenForm{"AKIA", 12, ""},       TokenForm{"ASIA", 12, ""},
    TokenForm{"xoxb-", 8, "-"},   TokenForm{"xoxp-", 8, "-"},      TokenForm{"xoxa-", 8, "-"},
    TokenForm{"AIza", 20, "-_"},  TokenForm{"nvapi-", 8, "-_"},    TokenForm{"pypi-", 16, "-_"},
    TokenForm{"npm_", 16, ""},    TokenForm{"dckr_pat_", 8, "-_"}, TokenForm{"eyJ", 16, "-_.="},
};

bool is_alphanumeric(char each) {
    return (each >= '0' && each <= '9') || (each >= 'a' && each <= 'z') ||
           (each >= 'A' && each <= 'Z');
}

bool is_space(char each) {
    return kBlanks.find(each) != std::string_view::npos;
}

struct Span {
    std::size_t begin = 0, end = 0;
};

/// The token of a service that begins at `at`.
std::optional<Span> service_token(std::string_view text, std::size_t at) {
    if (at > 0 && (is_alphanumeric(text[at - 1]) || text[at - 1] == '_')) return std::nullopt;
    for (TokenForm const& form : kTokenForms) {
        if (!text.substr(at).starts_with(form.prefix)) continue;
        std::size_t end = at + form.prefix.size();
        while (end < text.size() && (is_alphanumeric(text[end]) ||
                                     form.beside_letters.find(text[end]) != std::string_view::npos))
            ++end;
        if (end - at >= form.prefix.size() + form.more) return Span{at, end};
    }
    return std::nullopt;
}

/// "user:password" of a URL whose "://" is at `at`.
std::optional<Span> url_password(std::string_view text, std::size_t at) {
    if (!text.substr(at).starts_with("://")) return std::nullopt;
    std::size_t const begin = at + 3;
    std::size_t end = begin;
    while (end < text.size() && !is_space(text[end]) &&
           std::string_view("/?#\"'<>").find(text[end]) == std::string_view::npos)
        ++end;
    auto const sign = text.substr(begin, end - begin).rfind('@');
    if (sign == std::string_view::npos) return std::nullopt;
    auto const colon = text.substr(begin, sign).find(':');
    if (colon == std::string_view::npos || colon + 1 >= sign) return std::nullopt;
    return Span{begin, begin + sign};
}

/// A PEM block, to its end or to that of the text.
std::optional<Span> pem_block(std::string_view text, std::size_t at) {
    constexpr std::string_view kBegin = "-----BEGIN ", kEnd = "-----END ", kDashes = "-----";
    if (!text.substr(at).starts_with(kBegin)) return std::nullopt;
    auto const end = text.find(kEnd, at);
    if (end == std::string_view::npos) return Span{at, text.size()};
    auto const dashes = text.find(kDashes, end + kEnd.size());
    return Span{at, dashes == std::string_view::npos ? text.size() : dashes + kDashes.size()};
}

/// The token after "Bearer ".
std::optional<Span> bearer(std::string_view text, std::size_t at) {
    constexpr std::string_view kWord = "bearer ";
    constexpr std::size_t kShortest = 8;
    if (lower(text.substr(at, kWord.size())) != kWord) return std::nullopt;
    std::size_t const begin = at + kWord.size();
    std::size_t end = begin;
    while (end < text.size() && !is_space(text[end]) && text[end] != '"' && text[end] != '\'')
        ++end;
    return end - begin >= kShortest ? std::optional(Span{begin, end}) : std::nullopt;
}

/// The value of "HF_TOKEN=..." in capitals, as in a dump of the environment.
std::optional<Span> assignment(std::string_view text, std::size_t at) {
    if (text[at] != '=') return std::nullopt;
    std::size_t begin = at;
    while (begin > 0 &&
           (text[begin - 1] == '_' || (text[begin - 1] >= 'A' && text[begin - 1] <= 'Z') ||
            (text[begin - 1] >= '0' && text[begin - 1] <= '9')))
        --begin;
    if (!is_secret_name(text.substr(begin, at - begin))) return std::nullopt;
    std::size_t end = at + 1;
    while (end < text.size() && !is_space(text[end])) ++end;
    auto const value = text.substr(at + 1, end - at - 1);
    bool const is_shown = value.empty() || is_secret_digest(value) || value.starts_with(kRedacted);
    return is_shown ? std::nullopt : std::optional(Span{at + 1, end});
}

std::optional<Span> secret_at(std::string_view text, std::size_t at) {
    if (auto const found = service_token(text, at)) return found;
    if (auto const found = url_password(text, at)) return found;
    if (auto const found = pem_block(text, at)) return found;
    return bearer(text, at);
}

std::string without_forms(std::string_view text) {
    std::string kept;
    for (std::size_t at = 0; at < text.size();) {
        auto found = secret_at(text, at);
        if (!found) found = assignment(text, at);
        if (!found) {
            kept += text[at++];
            continue;
        }
        kept.append(text.substr(at, found->begin - at)).append(kRedacted);
        at = found->end;
    }
    return kept;
}

bool is_common(std::string_view value) {
    constexpr std::size_t kShortest = 4;
    constexpr std::array<std::string_view, 6> kWords{"true", "false", "none",
                                                     "null", "auto",  "default"};
    return value.size() < kShortest || std::ranges::count(kWords, lower(value)) > 0;
}

}  // namespace

bool is_secret_name(std::string_view name) {
    std::string const small = lower(name);
    if (std::ranges::count(kHarmlessNames, small) > 0 || small.ends_with(kPartitionKey)) {
        return false;
    }
    for (auto const word : kSecretWords) {
        if (small.find(word) != std::string::npos) return true;
    }
    std::string parts = small;
    std::ranges::replace_if(
        parts, [](char each) { return each == '-' || each == '.'; }, '_');
    return std::ranges::any_of(split(parts, '_'), [](std::string_view part) {
        return std::ranges::count(kSecretParts, part) > 0;
    });
}

bool holds_token(std::string_view value) {
    for (std::size_t at = 0; at < value.size(); ++at) {
        if (secret_at(value, at)) return true;
    }
    return false;
}

bool is_secret(std::string_view name, std::string_view value) {
    return !value.empty() && (is_secret_name(name) || holds_token(value));
}

std::string secret_digest(std::string_view key, std::string_view value) {
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned int length = 0;
    auto const* done = ::HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
                              reinterpret_cast<unsigned char const*>(value.data()), value.size(),
                              digest.data(), &length);
    OSORA_CHECK_EQ(done != nullptr, true);
    std::string text(kDigestPrefix);
    for (std::size_t i = 0; i < kDigestDigits / 2; ++i) text += fmt::format("{:02x}", digest[i]);
    return text;
}

bool is_secret_digest(std::string_view value) {
    if (!value.starts_with(kDigestPrefix)) return false;
    auto const digits = value.substr(kDigestPrefix.size());
    return digits.size() == kDigestDigits &&
           digits.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::string shown_value(std::string_view key, std::string_view name, std::string_view value) {
    bool const is_shown = is_secret_digest(value) || !is_secret(name, value);
    return is_shown ? std::string(value) : secret_digest(key, value);
}

void Redactor::add(std::string_view value) {
    constexpr std::size_t kLineShortest = 16;
    auto const keep = [this](std::string_view text) {
        if (!is_common(text)) values_.emplace_back(text);
    };
    keep(value);
    if (value.find('\n') != std::string_view::npos) {
        each_line(value, [&](std::string_view line) {
            if (line.size() >= kLineShortest) keep(line);
        });
    }
    std::ranges::stable_sort(values_, std::ranges::greater{}, &std::string::size);
}

void Redactor::add(Environment const& environment) {
    constexpr std::size_t kShortest = 8;  // for values that are no setting of the run
    for (std::string_view const entry : environment) {
        auto const equals = entry.find('=');
        if (equals == std::string_view::npos || entry.size() - equals <= kShortest) continue;
        auto const value = entry.substr(equals + 1);
        if (is_secret(entry.substr(0, equals), value)) add(value);
    }
}

std::string Redactor::redact(std::string_view text) const {
    std::string known(text);
    for (auto const& value : values_) {
        for (auto at = known.find(value); at != std::string::npos;
             at = known.find(value, at + kRedacted.size())) {
            known.replace(at, value.size(), kRedacted);
        }
    }
    return without_forms(known);
}

}  // namespace osora
