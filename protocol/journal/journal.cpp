// Encodes and decodes journal bytes. The checksum covers the body; a damaged length shows as a bad
// checksum, as an impossible length, or (finish) as whole records after a record that never ends.
#include "protocol/journal/journal.hpp"

#include "base/crc32c.hpp"
#include "base/files/compression.hpp"
#include "protocol/messages/message.hpp"
#include "protocol/steps/measurement.hpp"

#include <boost/endian/conversion.hpp>

#include <algorithm>
#include <optional>

namespace osora::protocol {
namespace {

constexpr std::size_t kPrefixBytes = kJournalPrefixBytes;
constexpr std::size_t kExpansionMax = 16;                      // of a frame; real ones: 1.3 to 4
constexpr std::size_t kVersionAt = kJournalHeader.size() - 2;  // where the headers differ
static_assert(kPlainJournalHeader.size() == kJournalHeader.size());
constexpr std::string_view kBodyStart = "{\"seq\":";  // of every body without kZstdMagic

std::uint32_t load_u32(std::string_view bytes, std::size_t at) {
    return boost::endian::load_big_u32(reinterpret_cast<unsigned char const*>(bytes.data() + at));
}

bool all_zero(std::string_view bytes) {
    return bytes.find_first_not_of('\0') == std::string_view::npos;
}

Error corrupt_at(std::uint64_t offset, std::string const& what) {
    return {Errc::corrupt, "journal, offset " + std::to_string(offset) + ": " + what};
}

/// The body of a whole, undamaged record at the start of `bytes`.
std::optional<std::string_view> whole_body(std::string_view bytes) {
    if (bytes.size() < kPrefixBytes) return std::nullopt;
    std::uint32_t const length = load_u32(bytes, 0);
    if (length == 0 || length > kJournalRecordBytesMax) return std::nullopt;
    if (bytes.size() - kPrefixBytes < length) return std::nullopt;
    auto const body = bytes.substr(kPrefixBytes, length);
    if (crc32c(body) != load_u32(bytes, 4)) return std::nullopt;
    return body;
}

Result<std::int64_t> integer_in(json::object const& object, char const* key) {
    auto const* value = object.if_contains(key);
    std::int64_t number = 0;
    if (value == nullptr) return Error{Errc::corrupt, "no \"" + std::string(key) + "\""};
    OSORA_TRY_VOID(read_integer(*value, number));
    return number;
}

/// The size limit of a frame's content, so that a piece of a foreign journal takes memory in
/// proportion to its size.
std::size_t longest_text(std::size_t frame_bytes) {
    return std::min<std::size_t>(kJournalRecordBytesMax, frame_bytes * kExpansionMax);
}

/// nullopt for an event of a type that this version does not know.
Result<std::optional<JournalRecord>> read_body(std::string_view body, std::uint64_t expected) {
    std::string text;
    if (body.starts_with(kZstdMagic)) {
        OSORA_TRY(text, decompress(body, longest_text(body.size())));
        body = text;
    }
    OSORA_TRY(auto value, parse_json(body));
    auto const* object = value.if_object();
    if (object == nullptr) return Error{Errc::corrupt, "not an object"};
    JournalRecord record;
    OSORA_TRY(auto sequence, integer_in(*object, "seq"));
    OSORA_TRY(record.wall_us, integer_in(*object, "wall_us"));
    record.sequence = static_cast<std::uint64_t>(sequence);
    if (record.sequence != expected) {
        return Error{Errc::corrupt, "record " + std::to_string(sequence) + " where " +
                                        std::to_string(expected) + " was due"};
    }
    auto event = message_from_json<RunEvent>(value);
    if (event.has_error() && event.error().code == Errc::not_found) {
        return std::optional<JournalRecord>();
    }
    if (event.has_error()) return std::move(event).error();
    record.event = std::move(*event);
    return std::optional<JournalRecord>(std::move(record));
}

}  // namespace

Result<std::string> encode_record(JournalRecord const& record, JournalBodies bodies) {
    json::object object{{"seq", record.sequence}, {"wall_us", record.wall_us}};
    for (auto&& member : message_to_json(record.event)) object.insert(std::move(member));
    std::string body = json::serialize(object);
    if (body.size() > kJournalRecordBytesMax) {
        return Error{Errc::invalid_input, "journal record of " + std::to_string(body.size()) +
                                              " bytes; the limit is " +
                                              std::to_string(kJournalRecordBytesMax)};
    }
    if (bodies == JournalBodies::compressed && holds_measurement(record.event)) {
        std::string frame = compress(body);
        bool const is_shorter = frame.size() < body.size();
        if (is_shorter && body.size() <= longest_text(frame.size())) body = std::move(frame);
    }
    return frame_body(body);
}

std::string frame_body(std::string_view body) {
    std::string bytes(kPrefixBytes, '\0');
    auto* prefix = reinterpret_cast<unsigned char*>(bytes.data());
    boost::endian::store_big_u32(prefix, static_cast<std::uint32_t>(body.size()));
    boost::endian::store_big_u32(prefix + 4, crc32c(body));
    return bytes.append(body);
}

Result<std::vector<JournalRecord>> JournalReader::feed(std::string_view bytes) {
    buffer_.append(bytes);
    std::string_view rest = buffer_;
    if (good_bytes_ == 0) {
        bool const is_plain = rest.starts_with(kPlainJournalHeader.substr(0, kVersionAt + 1));
        auto const header = is_plain ? kPlainJournalHeader : kJournalHeader;
        bodies_ = is_plain ? JournalBodies::plain : JournalBodies::compressed;
        auto const known = std::min(rest.size(), header.size());
        auto const differs = std::ranges::mismatch(rest.substr(0, known), header).in1;
        auto const same = static_cast<std::size_t>(differs - rest.begin());
        // A header that a crash left unfinished: its length may be on disk before its bytes.
        bool const is_torn = same < header.size() && all_zero(rest.substr(same));
        if (is_torn) return std::vector<JournalRecord>{};
        if (same < known) return corrupt_at(0, "not a journal of this version");
        rest.remove_prefix(known);
        good_bytes_ = known;
    }
    std::vector<JournalRecord> records;
    while (rest.size() >= kPrefixBytes && !all_zero(rest)) {
        std::uint32_t const length = load_u32(rest, 0);
        if (length == 0 || length > kJournalRecordBytesMax) {
            return corrupt_at(good_bytes_, "a record of " + std::to_string(length) + " bytes");
        }
        if (rest.size() - kPrefixBytes < length) break;
        auto const body = whole_body(rest);
        if (!body) {
            if (all_zero(rest.substr(kPrefixBytes + length))) break;
            return corrupt_at(good_bytes_, "wrong checksum");
        }
        auto record = read_body(*body, next_sequence_);
        if (record.has_error()) return corrupt_at(good_bytes_, record.error().message);
        if (*record) records.push_back(std::move(**record));
        ++next_sequence_;
        good_bytes_ += kPrefixBytes + length;
        rest.remove_prefix(kPrefixBytes + length);
    }
    buffer_.erase(0, buffer_.size() - rest.size());
    return records;
}

Result<void> JournalReader::finish() const {
    std::string_view const rest = buffer_;
    for (auto const start : {kBodyStart, kZstdMagic}) {
        for (auto at = rest.find(start, kPrefixBytes + 1); at != std::string_view::npos;
             at = rest.find(start, at + 1)) {
            if (whole_body(rest.substr(at - kPrefixBytes))) {
                return corrupt_at(good_bytes_, "a damaged length; whole records follow");
            }
        }
    }
    return {};
}

}  // namespace osora::protocol
