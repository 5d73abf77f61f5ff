#include "cli/text/page_head.hpp"

#include "cli/text/html.hpp"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <array>

namespace osora::cli {
namespace {

/// "'sha256-...'" as a Content-Security-Policy names a script.
std::string policy_hash(std::string_view bytes) {
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned length = 0;
    EVP_Digest(bytes.data(), bytes.size(), digest.data(), &length, EVP_sha256(), nullptr);
    std::array<unsigned char, 2 * EVP_MAX_MD_SIZE> text{};
    int const size = EVP_EncodeBlock(text.data(), digest.data(), static_cast<int>(length));
    return "'sha256-" + std::string(text.begin(), text.begin() + size) + "'";
}

std::string sources(std::vector<std::string_view> const& all) {
    std::string text;
    for (auto const each : all) {
        if (!each.empty()) text += (text.empty() ? "" : " ") + policy_hash(each);
    }
    return text.empty() ? "'none'" : text;
}

}  // namespace

/// The charts' library sets style attributes; these cannot run code.
std::string content_policy(PageHead const& head) {
    return fmt::format(
        "default-src 'none'; style-src-elem {}; style-src-attr 'unsafe-inline'; "
        "script-src {}; base-uri 'none'; form-action {}{}",
        sources(head.styles), sources(head.scripts), head.has_forms ? "'self'" : "'none'",
        head.fetches ? "; connect-src 'self'" : "");
}

std::string page_head(PageHead const& head) {
    std::string text = fmt::format(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
        "<meta name=\"referrer\" content=\"no-referrer\">\n"
        "<title>{}</title>\n",
        content_policy(head), html_text(head.title));
    for (auto const each : head.styles) {
        if (!each.empty()) text += fmt::format("<style>{}</style>\n", each);
    }
    return text + "</head>\n";
}

}  // namespace osora::cli
