#include "base/files/compression.hpp"

#include <gtest/gtest.h>

namespace osora {
namespace {

constexpr std::size_t kLimit = 1 << 20;

std::string text_of(std::size_t size) {
    std::string text;
    for (std::size_t i = 0; text.size() < size; ++i) text += std::to_string(i * i) + ",";
    text.resize(size);
    return text;
}

TEST(Compression, ATextComesBackAndIsShorter) {
    for (std::size_t const size : {0u, 1u, 7u, 1000u, 200'000u}) {
        std::string const text = text_of(size);
        std::string const frame = compress(text);
        EXPECT_TRUE(frame.starts_with(kZstdMagic));
        auto const back = decompress(frame, kLimit);
        ASSERT_TRUE(back.has_value()) << back.error().message;
        EXPECT_EQ(*back, text);
        EXPECT_LT(frame.size(), size + 20);
        EXPECT_EQ(frame.size() < size, size >= 1000);
    }
}

/// A frame laid out as in RFC 8878: one segment, 8 bytes of content size, one raw block.
TEST(Compression, AFrameThatWasMadeByHandIsRead) {
    std::string const by_hand("\x28\xB5\x2F\xFD\xE0\x03\0\0\0\0\0\0\0\x19\0\0abc", 19);
    auto const text = decompress(by_hand, kLimit);
    ASSERT_TRUE(text.has_value()) << text.error().message;
    EXPECT_EQ(*text, "abc");
    // The same, with a false length.
    std::string lies = by_hand;
    lies[5] = 4;
    EXPECT_EQ(decompress(lies, kLimit).error().code, Errc::corrupt);
    lies = by_hand;
    lies[12] = '\x7f';  // 2^62 bytes
    EXPECT_EQ(decompress(lies, kLimit).error().code, Errc::corrupt);
}

TEST(Compression, WhatIsNoWholeFrameIsAnError) {
    std::string const frame = compress(text_of(5000));
    for (std::size_t size = 0; size < frame.size(); ++size) {
        EXPECT_TRUE(decompress(std::string_view(frame).substr(0, size), kLimit).has_error());
    }
    EXPECT_TRUE(decompress(frame + frame, kLimit).has_error());
    EXPECT_TRUE(decompress(frame + '\0', kLimit).has_error());
    EXPECT_TRUE(decompress(frame, 4999).has_error());
    EXPECT_TRUE(decompress(frame, 5000).has_value());
    EXPECT_TRUE(decompress("{\"seq\":1}", kLimit).has_error());
}

TEST(Compression, DamageIsAnErrorOrAnotherTextWithinTheLimit) {
    std::string const text = text_of(3000);
    std::string const frame = compress(text);
    for (std::size_t at = 0; at < frame.size(); ++at) {
        for (int bit = 0; bit < 8; ++bit) {
            std::string damaged = frame;
            damaged[at] = static_cast<char>(damaged[at] ^ (1 << bit));
            auto const read = decompress(damaged, 4096);
            EXPECT_LE(read.has_value() ? read->size() : 0, 4096u);
        }
    }
}

}  // namespace
}  // namespace osora
