// CRC-32C (Castagnoli, RFC 3720 appendix B.4): the checksum of journals and of TFRecord files.
#pragma once

#include <boost/crc.hpp>

#include <cstdint>
#include <string_view>

namespace osora {

[[nodiscard]] inline std::uint32_t crc32c(std::string_view bytes) {
    boost::crc_optimal<32, 0x1EDC6F41, 0xFFFFFFFF, 0xFFFFFFFF, true, true> crc;
    crc.process_bytes(bytes.data(), bytes.size());
    return crc.checksum();
}

}  // namespace osora
