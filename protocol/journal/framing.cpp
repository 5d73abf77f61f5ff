#include "protocol/journal/framing.hpp"

#include <boost/endian/conversion.hpp>

namespace osora::protocol {
namespace {

std::uint32_t read_length(std::string_view bytes) {
    return boost::endian::load_big_u32(reinterpret_cast<unsigned char const*>(bytes.data()));
}

Error too_long(std::size_t bytes) {
    return {Errc::invalid_input, "frame of " + std::to_string(bytes) + " bytes; the limit is " +
                                     std::to_string(kFrameBytesMax)};
}

}  // namespace

Result<std::vector<std::string>> FrameReader::feed(std::span<std::byte const> bytes) {
    buffer_.append(reinterpret_cast<char const*>(bytes.data()), bytes.size());
    std::vector<std::string> frames;
    std::string_view rest = buffer_;
    while (rest.size() >= kFrameHeaderBytes) {
        std::uint32_t const length = read_length(rest);
        if (length > kFrameBytesMax) return too_long(length);
        if (rest.size() < kFrameHeaderBytes + length) break;
        frames.emplace_back(rest.substr(kFrameHeaderBytes, length));
        rest.remove_prefix(kFrameHeaderBytes + length);
    }
    buffer_.erase(0, buffer_.size() - rest.size());
    return frames;
}

Result<std::string> encode_frame(std::string_view body) {
    if (body.size() > kFrameBytesMax) return too_long(body.size());
    std::string frame(kFrameHeaderBytes, '\0');
    boost::endian::store_big_u32(reinterpret_cast<unsigned char*>(frame.data()),
                                 static_cast<std::uint32_t>(body.size()));
    return frame.append(body);
}

}  // namespace osora::protocol
