// OpenSSL's one-shot digest; it fails only when the library has no SHA-256, which is a bug.
#include "base/sha256.hpp"

#include "base/check.hpp"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <array>

namespace osora {

std::string sha256_hex(std::string_view bytes) {
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned int length = 0;
    int const done =
        EVP_Digest(bytes.data(), bytes.size(), digest.data(), &length, EVP_sha256(), nullptr);
    OSORA_CHECK_EQ(done, 1);
    std::string hex;
    for (unsigned int i = 0; i < length; ++i) hex += fmt::format("{:02x}", digest[i]);
    return hex;
}

}  // namespace osora
