#include "protocol/journal/journal_rewriter.hpp"

#include "base/files/compression.hpp"
#include "protocol/journal/journal.hpp"

#include <boost/endian/conversion.hpp>

namespace osora::protocol {

std::string JournalRewriter::feed(std::string_view bytes) {
    buffer_.append(bytes);
    std::string_view rest = buffer_;
    std::string done;
    if (!has_header_ && rest.size() >= kJournalHeader.size()) {
        done.append(rest.substr(0, kJournalHeader.size()));
        rest.remove_prefix(kJournalHeader.size());
        has_header_ = true;
    }
    while (has_header_ && rest.size() >= kJournalPrefixBytes) {
        auto const* start = reinterpret_cast<unsigned char const*>(rest.data());
        std::size_t const length = boost::endian::load_big_u32(start);
        if (rest.size() - kJournalPrefixBytes < length) break;
        auto const body = rest.substr(kJournalPrefixBytes, length);
        bool const is_plain = !body.starts_with(kZstdMagic);
        done.append(frame_body(is_plain ? change_(std::string(body)) : std::string(body)));
        rest.remove_prefix(kJournalPrefixBytes + length);
    }
    buffer_.erase(0, buffer_.size() - rest.size());
    return done;
}

}  // namespace osora::protocol
