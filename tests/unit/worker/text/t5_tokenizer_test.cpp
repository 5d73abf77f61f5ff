// Token ids against transformers' T5Tokenizer, and models that are not T5's.
#include "worker/text/t5_tokenizer.hpp"

#include <gtest/gtest.h>

#include <boost/json.hpp>

#include <filesystem>
#include <fstream>
#include <numeric>

namespace osora::worker {
namespace {

std::string const kData = OSORA_SOURCE_DIR "/tests/data/text/";

std::string content(std::string const& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

T5Tokenizer tokenizer() {
    auto opened = T5Tokenizer::open(kData + "tiny.model");
    EXPECT_TRUE(opened.has_value()) << opened.error().message;
    return std::move(*opened);
}

TEST(T5Tokenizer, EqualsTransformers) {
    auto const t5 = tokenizer();
    auto const golden = boost::json::parse(content(kData + "t5_tokenizer.json"));
    EXPECT_EQ(t5.vocab_size(), golden.at("vocab_size").to_number<std::int64_t>());
    auto const& rows = golden.at("rows").as_array();
    EXPECT_GE(rows.size(), 100u);
    for (auto const& row : rows) {
        std::string const text(row.at("text").as_string());
        std::string const name = serialize(row.at("text")).substr(0, 80);
        auto const whole = boost::json::value_to<std::vector<std::int64_t>>(row.at("ids"));
        EXPECT_EQ(t5.encode(text), whole) << name;
        auto const cut = boost::json::value_to<std::vector<std::int64_t>>(row.at("cut_to_300"));
        auto const padded = t5.encode_padded(text);
        ASSERT_EQ(padded.ids.size(), 300u);
        ASSERT_EQ(padded.mask.size(), 300u);
        EXPECT_EQ(std::accumulate(padded.mask.begin(), padded.mask.end(), std::int64_t{0}),
                  static_cast<std::int64_t>(cut.size()))
            << name;
        EXPECT_EQ(padded.cut, whole.size() > 300) << name;
        for (std::size_t i = 0; i < padded.ids.size(); ++i) {
            EXPECT_EQ(padded.ids[i], i < cut.size() ? cut[i] : kT5Pad) << name << ", token " << i;
            EXPECT_EQ(padded.mask[i], i < cut.size() ? 1 : 0) << name << ", token " << i;
        }
    }
}

TEST(T5Tokenizer, TakesBytesThatAreNoText) {
    auto const t5 = tokenizer();
    std::vector<std::int64_t> const a = t5.encode("a");
    EXPECT_EQ(t5.encode("a\xFF"), (std::vector<std::int64_t>{a[0], kT5Unknown, kT5Eos}));
    std::string bytes;
    for (int i = 0; i < 4096; ++i) bytes += static_cast<char>(i * 97 % 256);
    auto const ids = t5.encode(bytes);
    for (std::int64_t const id : ids) {
        EXPECT_GE(id, 0);
        EXPECT_LT(id, t5.vocab_size());
    }
    EXPECT_EQ(t5.encode_padded("A dog runs.", 1).ids, std::vector<std::int64_t>{kT5Eos});
}

TEST(T5Tokenizer, RefusesOtherFiles) {
    EXPECT_EQ(T5Tokenizer::open(kData + "none.model").error().code, Errc::not_found);
    auto const readme = T5Tokenizer::open(kData + "README.md");
    ASSERT_TRUE(readme.has_error());
    EXPECT_EQ(readme.error().code, Errc::invalid_input);
    EXPECT_NE(readme.error().message.find("README.md: no SentencePiece model"), std::string::npos)
        << readme.error().message;
}

}  // namespace
}  // namespace osora::worker
