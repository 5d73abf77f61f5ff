// OpenSSL's digests; they fail only when the library has no SHA-256, which is a bug.
#include "base/sha256.hpp"

#include "base/check.hpp"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <array>

namespace osora {
namespace {

using Digest = std::array<unsigned char, EVP_MAX_MD_SIZE>;

std::string hex_of(Digest const& digest, unsigned int length) {
    std::string hex;
    for (unsigned int i = 0; i < length; ++i) hex += fmt::format("{:02x}", digest[i]);
    return hex;
}

}  // namespace

std::string sha256_hex(std::string_view bytes) {
    Digest digest{};
    unsigned int length = 0;
    int const done =
        EVP_Digest(bytes.data(), bytes.size(), digest.data(), &length, EVP_sha256(), nullptr);
    OSORA_CHECK_EQ(done, 1);
    return hex_of(digest, length);
}

void Sha256::Free::operator()(evp_md_ctx_st* context) const {
    EVP_MD_CTX_free(context);
}

Sha256::Sha256() : context_(EVP_MD_CTX_new()) {
    OSORA_CHECK(context_ != nullptr);
    OSORA_CHECK_EQ(EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr), 1);
}

Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;
Sha256::~Sha256() = default;

void Sha256::add(std::span<unsigned char const> bytes) {
    OSORA_CHECK_EQ(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()), 1);
}

std::string Sha256::finish() {
    Digest digest{};
    unsigned int length = 0;
    OSORA_CHECK_EQ(EVP_DigestFinal_ex(context_.get(), digest.data(), &length), 1);
    return hex_of(digest, length);
}

}  // namespace osora
