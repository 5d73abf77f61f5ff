// Published digests (FIPS 180-2, appendix B), whole and in parts.
#include "base/sha256.hpp"

#include <gtest/gtest.h>

namespace osora {
namespace {

constexpr std::string_view kText = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
constexpr std::string_view kDigest =
    "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1";

std::span<unsigned char const> bytes_of(std::string_view text) {
    return {reinterpret_cast<unsigned char const*>(text.data()), text.size()};
}

TEST(Sha256, IsThatOfTheStandard) {
    EXPECT_EQ(sha256_hex("abc"),
              "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    EXPECT_EQ(sha256_hex(kText), kDigest);
}

TEST(Sha256, PartsGiveTheDigestOfTheWhole) {
    for (std::size_t const cut : {std::size_t{0}, std::size_t{1}, kText.size()}) {
        Sha256 hash;
        hash.add(bytes_of(kText.substr(0, cut)));
        hash.add(bytes_of(kText.substr(cut)));
        EXPECT_EQ(hash.finish(), kDigest);
    }
}

}  // namespace
}  // namespace osora
