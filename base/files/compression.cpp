#include "base/files/compression.hpp"

#include "base/check.hpp"

#include <fmt/format.h>
#include <zstd.h>

namespace osora {

std::string compress(std::string_view text) {
    constexpr int kLevel = 3;  // higher ones gain 1 % on records of a journal
    std::string frame(ZSTD_compressBound(text.size()), '\0');
    std::size_t const size =
        ZSTD_compress(frame.data(), frame.size(), text.data(), text.size(), kLevel);
    OSORA_CHECK(ZSTD_isError(size) == 0, "the room is that of the worst case");
    frame.resize(size);
    return frame;
}

Result<std::string> decompress(std::string_view frame, std::size_t bytes_max) {
    unsigned long long const size = ZSTD_getFrameContentSize(frame.data(), frame.size());
    bool const is_known = size != ZSTD_CONTENTSIZE_UNKNOWN && size != ZSTD_CONTENTSIZE_ERROR;
    if (!is_known || size > bytes_max) {
        return Error{Errc::corrupt, "zstd: its length is missing or above the limit"};
    }
    std::size_t const whole = ZSTD_findFrameCompressedSize(frame.data(), frame.size());
    if (ZSTD_isError(whole) != 0 || whole != frame.size()) {
        return Error{Errc::corrupt, "zstd: not one whole frame"};
    }
    std::string text(static_cast<std::size_t>(size), '\0');
    std::size_t const got = ZSTD_decompress(text.data(), text.size(), frame.data(), frame.size());
    if (ZSTD_isError(got) != 0 || got != text.size()) {
        char const* why = ZSTD_isError(got) != 0 ? ZSTD_getErrorName(got) : "too short";
        return Error{Errc::corrupt, fmt::format("zstd: {}", why)};
    }
    return text;
}

}  // namespace osora
