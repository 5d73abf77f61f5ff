// The output grows with what zlib yields and never past the limit, so a small file cannot take all
// memory.
#include "db/analysis/whatif/gunzip.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <limits>
#include <memory>

namespace osora::db::whatif {
namespace {

constexpr int kGzipOnly = 15 + 16;  // window bits: zlib's value for "a gzip header, largest window"

Error fault(std::string why) {
    return {Errc::invalid_input, "gzip: " + std::move(why)};
}

struct InflateEnd {
    void operator()(z_stream* stream) const { inflateEnd(stream); }
};

/// Calls inflate until the member ends.
Result<void> unpack_member(z_stream& stream, std::string& into, std::size_t limit) {
    std::array<char, 64 * 1024> chunk;
    for (;;) {
        stream.next_out = reinterpret_cast<Bytef*>(chunk.data());
        stream.avail_out = static_cast<uInt>(chunk.size());
        int const code = inflate(&stream, Z_NO_FLUSH);
        std::size_t const count = chunk.size() - stream.avail_out;
        if (count > limit - into.size()) {
            return fault(fmt::format("more than {} bytes unpacked", limit));
        }
        into.append(chunk.data(), count);
        if (code == Z_STREAM_END) return {};
        if (code == Z_BUF_ERROR || (code == Z_OK && stream.avail_in == 0 && count == 0)) {
            return fault(
                fmt::format("it ends in the middle, after {} bytes unpacked", into.size()));
        }
        if (code != Z_OK) {
            return fault(fmt::format("damaged after {} bytes unpacked{}{}", into.size(),
                                     stream.msg != nullptr ? ": " : "",
                                     stream.msg != nullptr ? stream.msg : ""));
        }
    }
}

}  // namespace

Result<std::string> gunzip(std::string_view bytes, std::size_t limit) {
    if (!bytes.starts_with("\x1f\x8b")) {
        if (bytes.size() <= limit) return std::string(bytes);
        return Error{Errc::invalid_input, fmt::format("more than {} bytes", limit)};
    }
    if (bytes.size() > std::numeric_limits<uInt>::max()) return fault("4 GiB or more");
    z_stream stream{};
    // zlib does not write through next_in.
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream.avail_in = static_cast<uInt>(bytes.size());
    if (inflateInit2(&stream, kGzipOnly) != Z_OK) return fault("no memory to unpack it");
    std::unique_ptr<z_stream, InflateEnd> const owner(&stream);
    std::string text;
    while (stream.avail_in > 0) {
        OSORA_TRY_VOID(unpack_member(stream, text, limit));
        // Tools pad the end with zeros.
        while (stream.avail_in > 0 && *stream.next_in == 0) {
            ++stream.next_in;
            --stream.avail_in;
        }
        if (stream.avail_in > 0 && inflateReset(&stream) != Z_OK) return fault("cannot continue");
    }
    return text;
}

}  // namespace osora::db::whatif
