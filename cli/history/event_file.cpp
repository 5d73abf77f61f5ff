#include "cli/history/event_file.hpp"

#include "base/crc32c.hpp"

#include <boost/endian/conversion.hpp>

#include <bit>

namespace osora::cli {
namespace {

// Fields of the messages, with how their values are written: number << 3 | type.
constexpr char kEventWallTime = 1 << 3 | 1;     // double
constexpr char kEventStep = 2 << 3;             // varint
constexpr char kEventFileVersion = 3 << 3 | 2;  // bytes
constexpr char kEventSummary = 5 << 3 | 2;      // message
constexpr char kSummaryValue = 1 << 3 | 2;      // message
constexpr char kValueTag = 1 << 3 | 2;          // bytes
constexpr char kValueSimple = 2 << 3 | 5;       // float

template <class Number>
std::string little(Number number) {
    std::string bytes(sizeof number, '\0');
    boost::endian::native_to_little_inplace(number);
    bytes.assign(reinterpret_cast<char const*>(&number), sizeof number);
    return bytes;
}

std::string varint(std::uint64_t number) {
    std::string bytes;
    for (; number >= 0x80; number >>= 7) bytes += static_cast<char>(number | 0x80);
    return bytes + static_cast<char>(number);
}

std::string field(char key, std::string_view bytes) {
    return key + varint(bytes.size()) + std::string(bytes);
}

/// A checksum of data that has checksums inside would say little: TensorFlow masks them.
std::uint32_t masked_crc(std::string_view bytes) {
    return std::rotr(crc32c(bytes), 15) + 0xa282ead8u;
}

std::string record(std::string const& data) {
    auto const length = little(std::uint64_t{data.size()});
    return length + little(masked_crc(length)) + data + little(masked_crc(data));
}

std::string event_time(double wall_s) {
    return kEventWallTime + little(std::bit_cast<std::uint64_t>(wall_s));
}

}  // namespace

std::string event_file_start(double wall_s) {
    return record(event_time(wall_s) + field(kEventFileVersion, "brain.Event:2"));
}

std::string scalar_event(std::int64_t step, double wall_s, std::vector<Scalar> const& scalars) {
    std::string summary;
    for (auto const& [tag, value] : scalars) {
        auto const bits = std::bit_cast<std::uint32_t>(static_cast<float>(value));
        summary += field(kSummaryValue, field(kValueTag, tag) + kValueSimple + little(bits));
    }
    return record(event_time(wall_s) + kEventStep + varint(static_cast<std::uint64_t>(step)) +
                  field(kEventSummary, summary));
}

}  // namespace osora::cli
