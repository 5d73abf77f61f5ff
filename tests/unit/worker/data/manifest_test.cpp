// Manifests as pandas, Excel and people write them, and every way a row can be bad.
#include "worker/data/manifest.hpp"

#include "tests/unit/worker/data/clips.hpp"
#include "worker/data/frames/decoder.hpp"
#include "worker/data/read_summary.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace osora::worker {
namespace {

class ManifestTest : public testing::Test {
protected:
    void SetUp() override {
        silence_ffmpeg();
        write_all(folder_.file("a.mp4"), "not read, its numbers are given");
        write_all(folder_.file("b c, \"d\".mp4"), "same");
    }
    Result<Manifest> parse(std::string const& csv) { return parse_manifest(csv, folder_.path()); }
    TempFolder folder_;
};

TEST_F(ManifestTest, ReadsOpenSorasColumnsInAnyOrder) {
    auto const manifest = *parse(
        "\xEF\xBB\xBF"
        "fps,path,extra,height,width,num_frames,text,aspect_ratio,resolution\r\n"
        "23.976,a.mp4,?,360,640,51.0,\"a cat, \u00e9\",0.5625,230400\r\n"
        "30,\"b c, \"\"d\"\".mp4\",?,90,160,17,,,\r\n");
    ASSERT_EQ(manifest.clips.size(), 2u);
    EXPECT_TRUE(manifest.skipped.empty());
    EXPECT_EQ(manifest.clips[0].path, folder_.file("a.mp4"));
    EXPECT_EQ(manifest.clips[0].text, "a cat, \u00e9");
    EXPECT_EQ(manifest.clips[0].num_frames, 51);
    EXPECT_EQ(manifest.clips[0].height, 360);
    EXPECT_EQ(manifest.clips[0].width, 640);
    EXPECT_DOUBLE_EQ(manifest.clips[0].fps, 23.976);
    EXPECT_EQ(manifest.clips[1].path, folder_.file("b c, \"d\".mp4"));
    EXPECT_EQ(manifest.clips[1].line, 3);
}

TEST_F(ManifestTest, BadRowsAreSkippedWithLineAndReason) {
    auto const manifest = *parse(
        "path,num_frames,height,width,fps\n"
        "a.mp4,51,360,640,24\n"
        "none.mp4,51,360,640,24\n"
        "a.mp4,51,360,640\n"
        "a.mp4,-5,360,640,24\n"
        "a.mp4,51,360x,640,24\n"
        "a.mp4,5.5,360,640,24\n"
        ",51,360,640,24\n"
        ".,51,360,640,24\n"
        "\"a.mp4,51,360,640,24\n"
        "a.mp4,1,360,640,\n");
    ASSERT_EQ(manifest.clips.size(), 2u);
    EXPECT_EQ(manifest.clips[1].line, 11);
    std::vector<std::pair<int, std::string>> const expected{
        {3, "no such file"},       {4, "4 fields, the header has 5"},
        {5, "num_frames \"-5\""},  {6, "height \"360x\""},
        {7, "num_frames \"5.5\""}, {8, "the path is empty"},
        {9, "regular file"},       {10, "quote"}};
    ASSERT_EQ(manifest.skipped.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
        EXPECT_EQ(manifest.skipped[i].line, expected[i].first);
        EXPECT_NE(manifest.skipped[i].reason.find(expected[i].second), std::string::npos)
            << manifest.skipped[i].reason;
    }
    EXPECT_EQ(manifest.skipped[0].path, folder_.file("none.mp4"));
}

TEST_F(ManifestTest, ClipsThatAreGoneMayKeepTheirPlace) {
    std::string const csv =
        "path,num_frames,height,width,fps\nnone.mp4,51,360,640,24\na.mp4,51,360,640,24\n"
        "none2.mp4,,360,640,24\n";
    auto const whole = *parse_manifest(csv, folder_.path(), {.keep_gone = true});
    ASSERT_EQ(whole.clips.size(), 2u);
    EXPECT_TRUE(whole.clips[0].gone);
    EXPECT_FALSE(whole.clips[1].gone);
    ASSERT_EQ(whole.skipped.size(), 2u);
    EXPECT_EQ(whole.skipped[0].line, 2);
    write_all(folder_.file("none.mp4"), "back again");
    EXPECT_EQ(parse_manifest(csv, folder_.path(), {.keep_gone = true})->fingerprint,
              whole.fingerprint);
    EXPECT_TRUE(parse_manifest("path,num_frames,height,width,fps\nnone3.mp4,5,36,64,24\n",
                               folder_.path(), {.keep_gone = true})
                    .has_error());
}

TEST_F(ManifestTest, NothingToTrainOnIsAClearError) {
    for (auto const& [csv, words] : std::vector<std::pair<std::string, std::string>>{
             {"", "empty"},
             {"path,text\n", "lists no clip"},
             {"file,text\na.mp4,x\n", "no \"path\" column"},
             {"path,path\na.mp4,x\n", "given twice"},
             {"path\nnone.mp4\nnone2.mp4\n", "none of its 2 rows"}}) {
        auto const manifest = parse(csv);
        ASSERT_TRUE(manifest.has_error()) << csv;
        EXPECT_EQ(manifest.error().code, Errc::invalid_input);
        EXPECT_NE(manifest.error().message.find(words), std::string::npos)
            << manifest.error().message;
    }
    EXPECT_EQ(read_manifest(folder_.file("none.csv")).error().code, Errc::not_found);
}

// pandas-dev/pandas#22140: a quote that is opened and not closed. No row gets another's caption.
TEST_F(ManifestTest, ABrokenQuoteCostsItsLineAndIsNamed) {
    for (char const* name : {"c01.mp4", "c02.mp4", "c03.mp4", "c04.mp4"})
        write_all(folder_.file(name), "not read");
    std::string const head = "path,text,num_frames,height,width,fps\n";
    for (std::string const third :
         {"\"A dog running\"", "\"A dog, running\"", "A dog running", "\", it said\"", "\"\"",
          "\"\nline two\"", "\"one\n\nthree\""}) {
        auto const manifest =
            *parse(head + "c01.mp4,\"fine, first\",17,64,64,25\n" +
                   "c02.mp4,\"the end of this quote is missing,17,64,64,25\n" + "c03.mp4," + third +
                   ",17,64,64,25\nc04.mp4,fine last,17,64,64,25\n");
        ASSERT_GE(manifest.clips.size(), 2u) << third;
        EXPECT_EQ(manifest.clips.front().text, "fine, first");
        EXPECT_EQ(manifest.clips.back().path, folder_.file("c04.mp4")) << third;
        EXPECT_EQ(manifest.clips.back().text, "fine last") << third;
        ASSERT_FALSE(manifest.skipped.empty()) << third;
        EXPECT_EQ(manifest.skipped[0].line, 3) << third;
        EXPECT_EQ(manifest.skipped[0].path, folder_.file("c02.mp4")) << third;
        EXPECT_NE(manifest.skipped[0].reason.find("quote"), std::string::npos) << third;
        for (Clip const& clip : manifest.clips) {
            EXPECT_EQ(clip.text.find("missing"), std::string::npos) << third;
            EXPECT_NE(clip.path, folder_.file("c02.mp4")) << third;
        }
        bool const c03 =
            std::ranges::any_of(manifest.clips, [](Clip const& clip) { return clip.line == 4; });
        bool const named = std::ranges::any_of(manifest.skipped,
                                               [](SkippedRow const& row) { return row.line == 4; });
        EXPECT_NE(c03, named) << third;
    }
    // The last column, where no field behind it can be missing.
    auto const last = *parse(
        "path,num_frames,height,width,fps,text\nc01.mp4,17,64,64,25,\"open\n"
        "c02.mp4,17,64,64,25,\"\nsecond\"\nc03.mp4,17,64,64,25,c\n");
    ASSERT_EQ(last.skipped.size(), 1u);
    EXPECT_EQ(last.skipped[0].line, 2);
    ASSERT_EQ(last.clips.size(), 2u);
    EXPECT_EQ(last.clips[0].text, "\nsecond");
}

TEST_F(ManifestTest, CaptionsArriveByteForByte) {
    std::string const longest(100'000, 'x');
    for (std::string const& text :
         {std::string("a, b; c | d\te"), std::string("She says \"hello\" twice"),
          std::string("First line.\r\n\r\nSecond, after an empty one."),
          std::string("\xF0\x9F\x90\xB6 \xE5\x9C\xA8"), std::string(), std::string("nan"),
          std::string(" blanks "), longest}) {
        std::string quoted;
        for (char const c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
        auto const manifest =
            *parse("\xEF\xBB\xBFpath,text,num_frames,height,width,fps\r\na.mp4,\"" + quoted +
                   "\",17,64,64,25\r\n");
        ASSERT_EQ(manifest.clips.size(), 1u);
        EXPECT_TRUE(manifest.clips[0].text == text) << text.substr(0, 80);
    }
}

TEST_F(ManifestTest, NumbersAreThoseOfPandasFfprobeAndSpreadsheets) {
    struct Case {
        std::string fps;
        double expected;
    };
    for (auto const& [fps, expected] :
         {Case{"30000/1001", 30000.0 / 1001}, Case{" 25.0 ", 25}, Case{"2.5e1", 25}}) {
        auto const manifest =
            *parse("path,num_frames,height,width,fps\na.mp4,17.0,64.0,64," + fps + "\n");
        ASSERT_EQ(manifest.clips.size(), 1u) << fps;
        EXPECT_DOUBLE_EQ(manifest.clips[0].fps, expected);
    }
    auto const sheet = *parse("Path;Num_Frames;Height;Width;FPS\na.mp4;17,0;64;64;29,97\n");
    ASSERT_EQ(sheet.clips.size(), 1u);
    EXPECT_DOUBLE_EQ(sheet.clips[0].fps, 29.97);
    EXPECT_EQ(sheet.clips[0].num_frames, 17);
    for (std::string const nothing :
         {"", "nan", "NaN", "None", "<NA>", "null", "NULL", "N/A", "0", "0.0", "0/0"}) {
        auto const manifest = parse("path,num_frames,height,width,fps\na.mp4," + nothing +
                                    ",64,64," + nothing + "\n");
        ASSERT_TRUE(manifest.has_error());  // it looks into the file
        EXPECT_NE(manifest.error().message.find("open: "), std::string::npos)
            << nothing << ": " << manifest.error().message;
    }
}

TEST_F(ManifestTest, OtherColumnNamesAreMappedOrNamed) {
    std::string const csv = "video,Caption ,n,height,width,fps\na.mp4,a cat,17,64,64,25\n";
    auto const mapped =
        parse_manifest(csv, folder_.path(),
                       {.columns = {{"path", "video"}, {"text", "caption"}, {"num_frames", "n"}}});
    ASSERT_TRUE(mapped) << mapped.error().message;
    EXPECT_EQ(mapped->clips.at(0).text, "a cat");
    EXPECT_EQ(mapped->clips.at(0).num_frames, 17);
    struct Case {
        plan::ColumnNames columns;
        std::string words;
    };
    for (auto const& [columns, words] :
         {Case{{},
               "it has: video, Caption , n, height, width, fps; [data] columns = { path = "
               "\"video\", text = \"Caption \" }"},
          Case{{{"path", "video"}}, "text = \"Caption \""},
          Case{{{"path", "vide"}}, "nearest: \"video\""},
          Case{{{"paths", "video"}}, "\"paths\" is no column of osora's"}}) {
        auto const refused = parse_manifest(csv, folder_.path(), {.columns = columns});
        ASSERT_TRUE(refused.has_error());
        EXPECT_NE(refused.error().message.find(words), std::string::npos)
            << refused.error().message;
    }
    auto const silent = parse_manifest(
        csv, folder_.path(), {.columns = {{"path", "video"}, {"text", ""}, {"num_frames", "n"}}});
    ASSERT_TRUE(silent) << silent.error().message;
    EXPECT_EQ(silent->clips.at(0).text, "");
}

TEST_F(ManifestTest, JsonLinesAreAList) {
    auto const manifest = *parse(
        "\xEF\xBB\xBF{\"path\": \"a.mp4\", \"text\": \"a \\\"cat\\\", \\u00e9\\n2\", "
        "\"num_frames\": 51, \"height\": 360.0, \"width\": \"640\", \"fps\": \"30000/1001\", "
        "\"tags\": [1]}\r\n"
        "\n"
        "{\"path\": \"a.mp4\", \"text\": \"cut\n"
        "{\"path\": \"a.mp4\", \"text\": [\"one\", \"two\"]}\n"
        "[\"a.mp4\"]\n"
        "{\"text\": \"no path\"}\n"
        "{\"num_frames\": 5, \"path\": \"b c, \\\"d\\\".mp4\", \"height\": 90, \"text\": null, "
        "\"width\": 160, \"fps\": 29.97}");
    ASSERT_EQ(manifest.clips.size(), 2u);
    EXPECT_EQ(manifest.clips[0].path, folder_.file("a.mp4"));
    EXPECT_EQ(manifest.clips[0].text, "a \"cat\", \u00e9\n2");
    EXPECT_EQ(manifest.clips[0].num_frames, 51);
    EXPECT_EQ(manifest.clips[0].height, 360);
    EXPECT_EQ(manifest.clips[0].width, 640);
    EXPECT_DOUBLE_EQ(manifest.clips[0].fps, 30000.0 / 1001);
    EXPECT_EQ(manifest.clips[1].path, folder_.file("b c, \"d\".mp4"));
    EXPECT_EQ(manifest.clips[1].text, "");
    EXPECT_EQ(manifest.clips[1].line, 7);
    EXPECT_DOUBLE_EQ(manifest.clips[1].fps, 29.97);
    std::vector<std::pair<int, std::string>> const expected{
        {3, "it is no JSON: "},
        {4, "\"text\" is an array, not one text or number"},
        {5, "it is no JSON object; one line is one clip"},
        {6, "the path is empty"}};
    ASSERT_EQ(manifest.skipped.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
        EXPECT_EQ(manifest.skipped[i].line, expected[i].first);
        EXPECT_TRUE(manifest.skipped[i].reason.starts_with(expected[i].second))
            << manifest.skipped[i].reason;
    }
}

/// To the system it is the file whose name ends there.
TEST_F(ManifestTest, ANulInAPathIsNamed) {
    using namespace std::string_literals;
    for (std::string const& list :
         {"path,num_frames,height,width,fps\na.mp4,51,360,640,30\na.mp4\0x,51,360,640,30\n"s,
          "{\"path\": \"a.mp4\", \"num_frames\": 51, \"height\": 360, \"width\": 640, \"fps\": "
          "30}\n"
          "{\"path\": \"a.mp4\\u0000x\", \"num_frames\": 51}\n"s}) {
        auto const manifest = *parse(list);
        EXPECT_EQ(manifest.clips.size(), 1u);
        ASSERT_EQ(manifest.skipped.size(), 1u);
        EXPECT_EQ(manifest.skipped[0].reason, "the path has a NUL byte");
    }
}

TEST_F(ManifestTest, KeysOfJsonLinesAreMappedAsColumnsAre) {
    std::string const list =
        "{\"video\": \"a.mp4\", \"size\": 1}\n"
        "{\"video\": \"a.mp4\", \"caption\": \"x\", \"num_frames\": 5, \"height\": 8, "
        "\"width\": 8, \"fps\": 1}\n";
    auto const refused = parse(list);
    ASSERT_TRUE(refused.has_error());
    EXPECT_NE(refused.error().message.find("[data] columns = { path = \"video\", text = "
                                           "\"caption\" }"),
              std::string::npos)
        << refused.error().message;
    auto const mapped = *parse_manifest(list, folder_.path(),
                                        {.columns = {{"path", "video"}, {"text", "caption"}}});
    ASSERT_EQ(mapped.clips.size(), 1u);
    EXPECT_EQ(mapped.clips[0].text, "x");
}

TEST_F(ManifestTest, OtherKindsOfListsAreNamedWithTheLineThatConvertsThem) {
    for (auto const& [list, words] : std::vector<std::pair<std::string, std::string>>{
             {"PAR1....",
              "Parquet, no CSV and no JSON lines; convert it with: python3 -c \"import pandas"},
             {"{\n  \"path\": \"a.mp4\"\n}\n", "it begins as JSON lines do, and has no such line"},
             {"[{\"path\": \"a.mp4\"}]\n", "read_json('LIST')"},
             {"PK\x03\x04", "read_excel"},
             {"\x1F\x8B\x08", "gzip -dc"},
             {"\xFF\xFEp", "iconv -f UTF-16"}}) {
        auto const refused = parse(list);
        ASSERT_TRUE(refused.has_error()) << words;
        EXPECT_NE(refused.error().message.find(words), std::string::npos)
            << refused.error().message;
    }
}

TEST_F(ManifestTest, GapsAreFilledFromTheFiles) {
    if (!have_ffmpeg()) GTEST_SKIP() << "no ffmpeg program";
    ASSERT_TRUE(
        make_clip(folder_.file("v.mp4"), "64x48", 1.2, {"-c:v", "libx264", "-pix_fmt", "yuv420p"}));
    ASSERT_TRUE(make_clip(folder_.file("v.mkv"), "64x48", 1.2, {"-c:v", "mpeg4"}));
    ASSERT_TRUE(make_clip(folder_.file("i.png"), "50x40", 0.04, {"-frames:v", "1"}));
    write_all(folder_.file("m.csv"), "path,fps\nv.mp4,\nv.mkv,\ni.png,\na.mp4,\n");
    auto const manifest = *read_manifest(folder_.file("m.csv"));
    ASSERT_EQ(manifest.clips.size(), 3u);
    for (int i : {0, 1}) {
        EXPECT_EQ(manifest.clips[i].num_frames, 30);
        EXPECT_EQ(manifest.clips[i].height, 48);
        EXPECT_EQ(manifest.clips[i].width, 64);
        EXPECT_DOUBLE_EQ(manifest.clips[i].fps, 25.0);
    }
    EXPECT_EQ(manifest.clips[2].num_frames, 1);
    EXPECT_EQ(manifest.clips[2].height, 40);
    ASSERT_EQ(manifest.skipped.size(), 1u);
    EXPECT_EQ(manifest.skipped[0].line, 5);
}

TEST_F(ManifestTest, ClipsThatAreGoneAreRemembered) {
    if (!have_ffmpeg()) GTEST_SKIP() << "no ffmpeg program";
    std::vector<std::string> const encoder{"-c:v", "libx264", "-pix_fmt", "yuv420p"};
    ASSERT_TRUE(make_clip(folder_.file("v.mp4"), "64x48", 0.4, encoder));
    ASSERT_TRUE(make_clip(folder_.file("w.mp4"), "64x48", 0.4, encoder));
    auto const read = [&] {
        return parse_manifest("path\nv.mp4\nw.mp4\n", folder_.path(),
                              {.keep_gone = true, .remembered = folder_.file("read.csv")});
    };
    auto const before = *read();
    ASSERT_TRUE(remember_clips(before, folder_.file("read.csv")));
    std::filesystem::remove(folder_.file("v.mp4"));
    auto const after = *read();
    ASSERT_EQ(after.clips.size(), 2u);
    EXPECT_TRUE(after.clips[0].gone);
    EXPECT_EQ(after.clips[0].num_frames, 10);
    EXPECT_EQ(after.fingerprint, before.fingerprint);
    ASSERT_TRUE(remember_clips(after, folder_.file("read.csv")));
    EXPECT_EQ(read()->fingerprint, before.fingerprint);
    // A file that cannot be read for now is neither an empty one nor written over.
    std::filesystem::rename(folder_.file("read.csv"), folder_.file("kept.csv"));
    std::filesystem::create_symlink("read.csv", folder_.file("read.csv"));  // for root, too
    EXPECT_EQ(read().error().code, Errc::io);
    EXPECT_EQ(remember_clips(before, folder_.file("read.csv")).error().code, Errc::io);
    std::filesystem::rename(folder_.file("kept.csv"), folder_.file("read.csv"));
    EXPECT_EQ(read()->fingerprint, before.fingerprint);
}

TEST_F(ManifestTest, RanksThatReadOtherClipsAreNamed) {
    std::string const head = "path,text,num_frames,height,width,fps\n";
    auto const read = [&](std::string const& rows, std::uint64_t settings = 7) {
        return summary_of(*parse_manifest(head + rows, folder_.path(), {.keep_gone = true}),
                          settings);
    };
    auto const usual = read("a.mp4,x,51,360,640,24\n");
    EXPECT_EQ(read("a.mp4,x,51,360,640,24\n"), usual);
    for (char const* other :
         {"a.mp4,y,51,360,640,24\n", "a.mp4,x,52,360,640,24\n", "a.mp4,x,51,360,640,25\n",
          "a.mp4,x,51,360,640,24\nnone.mp4,x,51,360,640,24\n"}) {
        EXPECT_NE(read(other).hash, usual.hash) << other;
    }
    EXPECT_NE(read("a.mp4,x,51,360,640,24\n", 8).hash, usual.hash);
    auto const odd = read("a.mp4,x,51,360,640,24\nnone.mp4,x,51,360,640,24\n");
    EXPECT_EQ(ranks_that_differ(std::vector{usual, usual, usual}), "");
    EXPECT_EQ(ranks_that_differ(std::vector<ReadSummary>{}), "");
    auto const said = ranks_that_differ(std::vector{odd, usual, usual});
    EXPECT_TRUE(said.starts_with("ranks read other clips: rank 0 read 2 clips, 1 of them gone"))
        << said;
    EXPECT_NE(said.find("the others read 1 clips, 0 of them gone"), std::string::npos) << said;
    EXPECT_TRUE(ranks_that_differ(std::vector{usual, odd})
                    .starts_with("ranks read other clips: rank 1 read"));
}

TEST_F(ManifestTest, FingerprintFollowsClipsAndOrder) {
    std::string const head = "path,num_frames,height,width,fps\n";
    std::string const a = "a.mp4,51,360,640,24\n";
    std::string const b = "\"b c, \"\"d\"\".mp4\",51,360,640,24\n";
    auto const mark = [this](std::string const& csv) { return parse(csv)->fingerprint; };
    EXPECT_EQ(mark(head + a + b), mark(head + a + "none,1,1,1,1\n" + b));
    EXPECT_NE(mark(head + a + b), mark(head + b + a));
    EXPECT_NE(mark(head + a), mark(head + "a.mp4,52,360,640,24\n"));
}

}  // namespace
}  // namespace osora::worker
