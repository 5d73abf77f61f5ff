// Words of a known size, painted with a built-in font, as Tesseract finds them in a clip.
#include "worker/clips/text_reader.hpp"

#include "protocol/clip_score.hpp"
#include "tests/unit/worker/data/clips.hpp"
#include "worker/clips/clip_scorer.hpp"
#include "worker/data/frames/decoder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <string_view>

namespace osora::worker {
namespace {

using testing::HasSubstr;

constexpr int kWidth = 640, kHeight = 360;
constexpr int kGlyphWidth = 5, kGlyphHeight = 7;

/// Rows of a glyph, the leftmost of 5 pixels in the highest bit.
std::map<char, std::array<int, kGlyphHeight>> const kGlyphs{
    {'A', {14, 17, 17, 31, 17, 17, 17}}, {'D', {30, 17, 17, 17, 17, 17, 30}},
    {'E', {31, 16, 16, 30, 16, 16, 31}}, {'H', {17, 17, 17, 31, 17, 17, 17}},
    {'L', {16, 16, 16, 16, 16, 16, 31}}, {'N', {17, 25, 21, 19, 17, 17, 17}},
    {'R', {30, 17, 17, 30, 20, 18, 17}}, {'T', {31, 4, 4, 4, 4, 4, 4}},
};

/// Grey pictures, 200 of 255, with black words.
class Painting {
public:
    /// Pixels are squares of `scale`. Returns the area of the word's box in pixels.
    int write(std::string_view word, int left, int top, int scale) {
        int at = left;
        for (char const letter : word) {
            for (int y = 0; y < kGlyphHeight * scale; ++y) {
                for (int x = 0; x < kGlyphWidth * scale; ++x) {
                    int const row = kGlyphs.at(letter)[static_cast<std::size_t>(y / scale)];
                    if ((row >> (kGlyphWidth - 1 - x / scale) & 1) != 0) paint(at + x, top + y);
                }
            }
            at += (kGlyphWidth + 1) * scale;
        }
        return (at - scale - left) * kGlyphHeight * scale;
    }
    [[nodiscard]] std::string const& pixels() const { return rgb_; }
    [[nodiscard]] RgbPicture picture() const {
        return {.rgb = {reinterpret_cast<std::uint8_t const*>(rgb_.data()), rgb_.size()},
                .height = kHeight,
                .width = kWidth};
    }

private:
    void paint(int x, int y) {
        auto const at = (static_cast<std::size_t>(y) * kWidth + static_cast<std::size_t>(x)) * 3;
        for (std::size_t c = 0; c < 3; ++c) rgb_[at + c] = 0;
    }
    std::string rgb_ = std::string(std::size_t{3} * kWidth * kHeight, static_cast<char>(200));
};

TEST(CoveredShare, CountsPixelsOfSeveralBoxesOnceAndOnlyThoseOfThePicture) {
    EXPECT_EQ(covered_share({}, 10, 10), 0);
    EXPECT_EQ(covered_share({{0, 0, 5, 2}, {2, 0, 5, 2}}, 10, 10), 0.14);
    EXPECT_EQ(covered_share({{-5, -5, 6, 6}, {9, 9, 50, 50}}, 10, 10), 0.02);
    EXPECT_EQ(covered_share({{0, 0, 1, 1}}, 0, 0), 0);
}

TEST(OpenTextReader, SaysWhatIsMissing) {
    auto const none = open_text_reader("/nonexistent/libosora_text.so");
    ASSERT_TRUE(none.has_error());
    EXPECT_EQ(none.error().code, Errc::invalid_input);
    EXPECT_THAT(none.error().message, HasSubstr("install libtesseract-dev"));
    TempFolder folder;
    write_all(folder.file("libosora_text.so"), "no library");
    auto const wrong = open_text_reader(folder.file("libosora_text.so"));
    ASSERT_TRUE(wrong.has_error());
    EXPECT_THAT(wrong.error().message, HasSubstr("does not load"));
}

class ReadText : public testing::Test {
protected:
    void SetUp() override {
        silence_ffmpeg();
        if (!std::filesystem::exists(text_module_path()))
            GTEST_SKIP() << "this build has no Tesseract";
    }
    /// Cells of a clip of 8 such pictures.
    [[nodiscard]] std::vector<std::string> cells_of(Painting const& painting) {
        std::string pictures;
        for (int i = 0; i < 8; ++i) pictures += painting.pixels();
        write_all(folder_.file("raw.rgb"), pictures);
        EXPECT_TRUE(ffmpeg({"-f", "rawvideo", "-pix_fmt", "rgb24", "-s", "640x360", "-r", "8", "-i",
                            folder_.file("raw.rgb"), "-c:v", "libx264", "-crf", "18", "-pix_fmt",
                            "yuv420p", folder_.file("text.mp4")}));
        auto const asked = asked_scores({"text"}, 2, 120);
        EXPECT_TRUE(asked);
        auto const tools = score_tools(*asked, {});
        EXPECT_TRUE(tools) << tools.error().message;
        ListedClip listed;
        listed.clip.path = folder_.file("text.mp4");
        listed.name = "text.mp4";
        auto const scored = score_clip(listed, *asked, tools->front());
        EXPECT_TRUE(scored);
        EXPECT_FALSE(scored->fault) << scored->fault->reason;
        EXPECT_EQ(asked->columns(), (std::vector<std::string>{"text", "text_boxes"}));
        return scored->row.cells;
    }
    TempFolder folder_;
};

TEST_F(ReadText, GivesTheAreaOfTheWordsOfAClip) {
    if (!have_ffmpeg()) GTEST_SKIP() << "no ffmpeg program";
    Painting painting;
    int area = painting.write("HEATED", 60, 60, 6);
    area += painting.write("LANTERN", 200, 220, 5);
    auto const cells = cells_of(painting);
    double const wanted = static_cast<double>(area) / (kWidth * kHeight);
    EXPECT_NEAR(std::stod(cells.at(0)), wanted, 0.15 * wanted);
    EXPECT_EQ(cells.at(1), "2");
}

TEST_F(ReadText, GivesNothingForAClipWithoutText) {
    if (!have_ffmpeg()) GTEST_SKIP() << "no ffmpeg program";
    EXPECT_EQ(cells_of(Painting()), (std::vector<std::string>{"0", "0"}));
}

TEST_F(ReadText, IsTheSameForTheSamePictureWhateverWasReadBefore) {
    Painting one, other;
    one.write("HEATED", 60, 60, 6);
    other.write("LANTERN", 200, 220, 5);
    auto const reader = open_text_reader(text_module_path());
    ASSERT_TRUE(reader) << reader.error().message;
    auto const first = (*reader)->read(one.picture());
    ASSERT_TRUE(first);
    ASSERT_EQ(first->size(), 1u);
    ASSERT_TRUE((*reader)->read(other.picture()));
    auto const again = (*reader)->read(one.picture());
    ASSERT_TRUE(again && again->size() == 1u);
    EXPECT_EQ(again->front().left, first->front().left);
    EXPECT_EQ(again->front().width, first->front().width);
}

}  // namespace
}  // namespace osora::worker
