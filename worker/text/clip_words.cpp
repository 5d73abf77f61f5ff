#include "worker/text/clip_words.hpp"

#include "base/check.hpp"

#include <unicode/normalizer2.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>

#include <array>

namespace osora::worker {
namespace {

enum class Kind { space, letter, number, other };

Kind kind_of(UChar32 point) {
    if (u_hasBinaryProperty(point, UCHAR_WHITE_SPACE)) return Kind::space;
    auto const type = U_MASK(u_charType(point));
    if ((type & U_GC_L_MASK) != 0) return Kind::letter;
    return (type & U_GC_N_MASK) != 0 ? Kind::number : Kind::other;
}

icu::UnicodeString composed(std::string_view text) {
    UErrorCode failed = U_ZERO_ERROR;
    auto const* nfc = icu::Normalizer2::getNFCInstance(failed);
    OSORA_CHECK(U_SUCCESS(failed), "ICU has its own data");
    auto const given = icu::UnicodeString::fromUTF8(
        icu::StringPiece(text.data(), static_cast<std::int32_t>(text.size())));
    auto made = nfc->normalize(given, failed);
    OSORA_CHECK(U_SUCCESS(failed), "any text has an NFC");
    return made;
}

/// Point by point, as the tokenizer's Rust does: no final sigma. One point becomes two.
std::u32string lowered(icu::UnicodeString const& text) {
    constexpr UChar32 kDottedI = 0x130;
    std::u32string out;
    for (std::int32_t i = 0; i < text.length(); i = text.moveIndex32(i, 1)) {
        UChar32 const point = text.char32At(i);
        if (point == kDottedI) {
            out += U"i\u0307";
        } else {
            out += static_cast<char32_t>(u_tolower(point));
        }
    }
    return out;
}

/// Letters of the contraction at the start of `text` and its apostrophe; 0: none.
std::size_t contraction(std::u32string_view text) {
    constexpr std::array<std::u32string_view, 7> kAll{U"'s", U"'t",  U"'re", U"'ve",
                                                      U"'m", U"'ll", U"'d"};
    for (auto const each : kAll)
        if (text.starts_with(each)) return each.size();
    return 0;
}

std::string utf8(std::u32string_view points) {
    std::string out;
    icu::UnicodeString::fromUTF32(reinterpret_cast<UChar32 const*>(points.data()),
                                  static_cast<std::int32_t>(points.size()))
        .toUTF8String(out);
    return out;
}

}  // namespace

std::vector<std::string> clip_words(std::string_view text) {
    std::u32string const points = lowered(composed(text));
    std::u32string_view left = points;
    std::vector<std::string> words;
    while (!left.empty()) {
        Kind const kind = kind_of(static_cast<UChar32>(left[0]));
        std::size_t length = contraction(left);
        if (length == 0) {
            length = 1;
            while (kind != Kind::number && length < left.size() &&
                   kind_of(static_cast<UChar32>(left[length])) == kind)
                ++length;
        }
        if (kind != Kind::space) words.push_back(utf8(left.substr(0, length)));
        left.remove_prefix(length);
    }
    return words;
}

}  // namespace osora::worker
