// Token ids against transformers' CLIPTokenizer, and folders that are not CLIP's.
#include "worker/text/clip_tokenizer.hpp"

#include <gtest/gtest.h>

#include <boost/json.hpp>

#include <filesystem>
#include <fstream>
#include <numeric>

namespace osora::worker {
namespace {

namespace fs = std::filesystem;

fs::path const kClipData = OSORA_SOURCE_DIR "/tests/data/text";

std::string clip_content(fs::path const& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

/// A folder with the tiny vocabulary that a test may spoil.
class ClipFolder : public testing::Test {
protected:
    ClipFolder() {
        fs::path const name = testing::UnitTest::GetInstance()->current_test_info()->name();
        folder_ = fs::path(testing::TempDir()) / "osora_clip" / name;
        fs::remove_all(folder_);
        fs::create_directories(folder_);
        for (auto const* file : {"vocab.json", "merges.txt"})
            put(file, clip_content(kClipData / "clip" / file));
    }
    ~ClipFolder() override { fs::remove_all(folder_); }

    void put(std::string const& file, std::string const& text) {
        std::ofstream(folder_ / file, std::ios::binary) << text;
    }
    [[nodiscard]] std::string refusal() const {
        auto const opened = ClipTokenizer::open(folder_);
        return opened.has_error() ? opened.error().message : "";
    }
    fs::path folder_;
};

TEST(ClipTokenizer, EqualsTransformers) {
    auto const opened = ClipTokenizer::open(kClipData / "clip");
    ASSERT_TRUE(opened.has_value()) << opened.error().message;
    auto const golden = boost::json::parse(clip_content(kClipData / "clip_tokenizer.json"));
    auto const& rows = golden.at("rows").as_array();
    EXPECT_GE(rows.size(), 150u);
    for (auto const& row : rows) {
        std::string const text(row.at("text").as_string());
        std::string const name = serialize(row.at("text")).substr(0, 80);
        auto const whole = boost::json::value_to<std::vector<std::int64_t>>(row.at("ids"));
        EXPECT_EQ(opened->encode(text), whole) << name;
        auto const padded = opened->encode_padded(text);
        EXPECT_EQ(padded.ids, boost::json::value_to<std::vector<std::int64_t>>(row.at("padded")))
            << name;
        EXPECT_EQ(padded.cut, whole.size() > kClipTokens) << name;
        EXPECT_EQ(std::accumulate(padded.mask.begin(), padded.mask.end(), std::size_t{0}),
                  std::min(whole.size(), kClipTokens))
            << name;
    }
}

TEST(ClipTokenizer, TakesBytesThatAreNoText) {
    auto const opened = ClipTokenizer::open(kClipData / "clip");
    ASSERT_TRUE(opened.has_value());
    EXPECT_EQ(opened->encode("a\xFF b"), opened->encode("a\xEF\xBF\xBD b"));
    auto const long_word = opened->encode(std::string(200'000, 'a'));  // no quadratic time
    EXPECT_GT(long_word.size(), 1000u);
}

TEST_F(ClipFolder, MissingFilesAreNamed) {
    fs::remove(folder_ / "merges.txt");
    EXPECT_NE(refusal().find("merges.txt"), std::string::npos) << refusal();
    fs::remove(folder_ / "vocab.json");
    EXPECT_NE(refusal().find("vocab.json"), std::string::npos) << refusal();
}

TEST_F(ClipFolder, CutVocabularyIsRefused) {
    auto const whole = clip_content(folder_ / "vocab.json");
    put("vocab.json", whole.substr(0, whole.size() / 2));
    EXPECT_NE(refusal().find("vocab.json: not JSON, or cut"), std::string::npos) << refusal();
}

TEST_F(ClipFolder, CutMergesAreRefused) {
    auto const whole = clip_content(folder_ / "merges.txt");
    put("merges.txt", whole.substr(0, whole.rfind('\n', whole.size() - 2) + 1));
    EXPECT_NE(refusal().find("merges.txt: no line makes token"), std::string::npos) << refusal();
    put("merges.txt", whole + "x\n");
    EXPECT_NE(refusal().find("line 262: \"x\": expected two tokens"), std::string::npos)
        << refusal();
}

TEST_F(ClipFolder, MergesOfUnknownTokensAreRefused) {
    put("merges.txt", clip_content(folder_ / "merges.txt") + "q zqz</w>\n");
    EXPECT_NE(refusal().find("line 262: \"q zqz</w>\": token \"zqz</w>\" is not in vocab.json"),
              std::string::npos)
        << refusal();
}

TEST_F(ClipFolder, OtherVocabulariesAreRefused) {
    put("vocab.json", R"({"a": 0, "b": 0})");
    EXPECT_NE(refusal().find("token \"b\": its id is 0"), std::string::npos) << refusal();
    put("vocab.json", R"({"a": 0, "b": 1})");
    EXPECT_NE(refusal().find("no token \"<|startoftext|>\""), std::string::npos) << refusal();
    put("vocab.json", R"({"<|startoftext|>": 0, "<|endoftext|>": 1})");
    EXPECT_NE(refusal().find("for byte 0: not CLIP's"), std::string::npos) << refusal();
}

}  // namespace
}  // namespace osora::worker
