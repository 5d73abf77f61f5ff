// osora data index: against what the ffmpeg program says of the same files, and what remains of an
// index that was stopped, damaged or written by another version.
#include "worker/clips/index.hpp"

#include "base/process/capture.hpp"
#include "base/text/text.hpp"
#include "tests/unit/worker/data/clips.hpp"
#include "worker/clips/index_file.hpp"
#include "worker/data/frames/clip_survey.hpp"
#include "worker/data/frames/decoder.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <cmath>

namespace osora::worker {
namespace {

using testing::HasSubstr;

class Index : public testing::Test {
protected:
    void SetUp() override {
        silence_ffmpeg();
        if (!have_ffmpeg()) GTEST_SKIP() << "no ffmpeg program";
        make("a.mp4", {"-g", "10", "-bf", "2"});
        make("b.mkv", {"-g", "10", "-bf", "2"});
        make("c.ts", {"-g", "10", "-bf", "0"});
    }
    void make(std::string const& name, std::vector<std::string> more) {
        std::vector<std::string> words{"-c:v",    "libx264",       "-pix_fmt",
                                       "yuv420p", "-sc_threshold", "0"};
        words.insert(words.end(), more.begin(), more.end());
        ASSERT_TRUE(make_clip(folder_.file(name), "96x64", 1.0, words));
    }
    [[nodiscard]] Result<protocol::ClipIndex> index(std::string const& csv, int workers = 2) {
        write_all(folder_.file("clips.csv"), csv);
        return index_clips({.manifest = folder_.file("clips.csv"),
                            .index = folder_.file("clips.csv.index"),
                            .out = folder_.file("out.csv"),
                            .workers = workers,
                            .columns = {}});
    }
    [[nodiscard]] protocol::ClipIndexRow row(std::string const& name) const {
        auto const parsed = parse_index(read_all(folder_.file("clips.csv.index")));
        return parsed && parsed->rows.contains(folder_.file(name))
                   ? parsed->rows.at(folder_.file(name))
                   : protocol::ClipIndexRow();
    }
    /// The lines that ffprobe prints of the first video stream.
    [[nodiscard]] std::vector<std::string> ffprobe(std::string const& name,
                                                   std::vector<std::string> const& words) const {
        auto const program = find_in_path("ffprobe", "/usr/local/bin:/usr/bin:/bin");
        EXPECT_TRUE(program);
        if (!program) return {};
        SpawnOptions options{.program = *program,
                             .arguments = {"-v", "error", "-select_streams", "v:0", "-of",
                                           "csv=p=0", folder_.file(name)}};
        options.arguments.insert(options.arguments.end(), words.begin(), words.end());
        auto const said = run_captured(std::move(options), std::chrono::seconds(60));
        EXPECT_TRUE(said && said->ok()) << name;
        std::vector<std::string> lines;
        if (!said) return lines;
        each_line(said->out, [&](std::string_view line) {
            if (!line.empty()) lines.emplace_back(line);
        });
        return lines;
    }

    TempFolder folder_;
};

TEST_F(Index, FramesAndKeyframesAreThoseOfFfprobe) {
    auto const done = index("path\na.mp4\nb.mkv\nc.ts\n");
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(done->read, 3);
    EXPECT_TRUE(done->failures.empty());
    for (std::string const name : {"a.mp4", "b.mkv", "c.ts"}) {
        auto const clip = row(name);
        auto const frames =
            ffprobe(name, {"-count_frames", "-show_entries", "stream=nb_read_frames"});
        ASSERT_FALSE(frames.empty());
        EXPECT_EQ(clip.num_frames, std::stoi(frames.front())) << name;
        std::vector<std::string> keys, dts;
        for (auto const& line : ffprobe(name, {"-show_entries", "packet=dts,pos,flags"})) {
            if (line.find('K') == std::string::npos) continue;
            auto const fields = split(line, ',');
            ASSERT_GE(fields.size(), 3u) << line;
            dts.emplace_back(fields[0]);
            keys.emplace_back(fields[1]);
        }
        EXPECT_EQ(clip.num_keyframes, 3) << name;
        EXPECT_EQ(clip.gop_frames_max, 10) << name;
        EXPECT_NEAR(clip.duration_s, 1.0, 0.002) << name;
        EXPECT_TRUE(clip.constant_rate) << name;
        EXPECT_GT(clip.decode_ms_per_frame, 0) << name;
        ASSERT_EQ(clip.key_positions.size(), keys.size()) << name;
        for (std::size_t i = 0; i < keys.size(); ++i) {
            EXPECT_EQ(std::to_string(clip.key_positions[i]), keys[i]) << name;
            if (dts[i] != "N/A") {
                EXPECT_EQ(std::to_string(clip.key_dts[i]), dts[i]) << name;
            }
        }
    }
}

TEST_F(Index, VariableRatesAndRotationsAreSeen) {
    make("vfr.mp4", {"-vf", "select='not(mod(n,5))+lt(n,9)'", "-vsync", "vfr"});
    write_turned(folder_.file("a.mp4"), folder_.file("turned.mp4"));
    auto const done = index("path\na.mp4\nvfr.mp4\nturned.mp4\n");
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(done->variable_rate, 1);
    EXPECT_FALSE(row("vfr.mp4").constant_rate);
    auto const turned = row("turned.mp4");
    EXPECT_EQ(turned.stored_width, 96);
    EXPECT_EQ(turned.width, 64);
    EXPECT_EQ(turned.height, 96);
    EXPECT_TRUE(turned.rotation == 90 || turned.rotation == 270) << turned.rotation;
    EXPECT_FALSE(turned.mirrored);
}

TEST_F(Index, FillsWhatRowsDoNotSay) {
    auto const done =
        index("path,text,num_frames,fps\na.mp4,\"x, y\",7,\nnone.mp4,z,,\nb.mkv,,,24\n");
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(read_all(folder_.file("out.csv")),
              "path,text,num_frames,height,width,aspect_ratio,resolution,fps\n"
              "a.mp4,\"x, y\",7,64,96,0.6666666666666666,6144,25\n"
              "none.mp4,z,,,,,,\n"
              "b.mkv,,25,64,96,0.6666666666666666,6144,24\n");
    EXPECT_EQ(done->filled.at("num_frames"), 1);
    EXPECT_EQ(done->filled.at("height"), 2);
    EXPECT_EQ(done->filled.at("fps"), 1);
    ASSERT_EQ(done->failures.size(), 1u);
    EXPECT_EQ(done->failures[0].line, 3);
    EXPECT_EQ(done->failures[0].kind, "missing");
}

TEST_F(Index, ReadsOnlyWhatIsNewOrChanged) {
    ASSERT_TRUE(index("path\na.mp4\nb.mkv\n"));
    auto const again = index("path\na.mp4\nb.mkv\nc.ts\n");
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(again->kept, 2);
    EXPECT_EQ(again->read, 1);
    EXPECT_EQ(again->frames, 75);
    make("a.mp4", {"-g", "5"});
    auto const changed = index("path\na.mp4\nb.mkv\nc.ts\n", 0);
    ASSERT_TRUE(changed) << changed.error().message;
    EXPECT_EQ(changed->read, 1);
    EXPECT_EQ(row("a.mp4").gop_frames_max, 5);
}

TEST_F(Index, ACutOrChangedLineCostsOnlyItsClip) {
    ASSERT_TRUE(index("path\na.mp4\nb.mkv\nc.ts\n"));
    std::string const file = folder_.file("clips.csv.index");
    std::string const whole = read_all(file);
    for (std::size_t const cut : {std::size_t{1}, std::size_t{2}, std::size_t{50}}) {
        write_all(file, whole.substr(0, whole.size() - cut));
        auto const done = index("path\na.mp4\nb.mkv\nc.ts\n");
        ASSERT_TRUE(done) << done.error().message;
        EXPECT_EQ(done->damaged_lines, 1) << cut;
        EXPECT_EQ(done->kept + done->read, 3);
        EXPECT_LE(done->read, 1);
        auto const parsed = parse_index(read_all(file));
        ASSERT_TRUE(parsed);
        EXPECT_EQ(parsed->damaged_lines, 0);
        EXPECT_EQ(parsed->rows.size(), 3u);
    }
    std::string flipped = whole;
    std::size_t const at = flipped.find("\"num_frames\":25");
    flipped[at + 14] = '6';
    write_all(file, flipped);
    auto const done = index("path\na.mp4\nb.mkv\nc.ts\n");
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(done->damaged_lines, 1);
    EXPECT_EQ(done->frames, 75);
    write_all(file, "");
    EXPECT_EQ(index("path\na.mp4\n")->read, 1);
}

TEST(Survey, TimesFarApartDoNotOverflow) {
    ClipSurvey survey;
    for (std::int64_t const time : {INT64_MIN + 1, INT64_MAX})
        survey.packets.push_back(
            {.time = {.pts = time, .dts = time, .key = true, .discard = false}, .position = 0});
    auto const figures = figures_of(survey);
    EXPECT_FALSE(figures.keyframes.empty());
    EXPECT_FALSE(std::signbit(figures.duration_s));
}

TEST_F(Index, NamesThatAreNotUtf8AreReadEachTime) {
    std::string const name = "\xff\xfe.mp4";
    std::filesystem::copy_file(folder_.file("a.mp4"), folder_.file(name));
    for (int i = 0; i < 2; ++i) {
        auto const done = index("path\na.mp4\n" + name + "\n\xffnone.mp4\n");
        ASSERT_TRUE(done) << done.error().message;
        EXPECT_EQ(done->read, i == 0 ? 2 : 1);
        EXPECT_EQ(done->damaged_lines, 0);
        ASSERT_EQ(done->failures.size(), 1u);
        EXPECT_EQ(done->failures[0].path, "?none.mp4");
        EXPECT_THAT(read_all(folder_.file("out.csv")), HasSubstr(name + ",,25,64,96,"));
    }
}

TEST_F(Index, RefusesFilesThatAreNoIndexOfIt) {
    std::string const file = folder_.file("clips.csv.index");
    for (auto const& [content, said] : std::vector<std::pair<std::string, std::string>>{
             {"{\"schema\":\"osora.clip_index/9\"}\n", "another version than osora.clip_index/1"},
             {"path\na.mp4\n", "not an index of osora"}}) {
        write_all(file, content);
        auto const refused = index("path\na.mp4\n");
        ASSERT_FALSE(refused);
        EXPECT_EQ(refused.error().code, Errc::invalid_input);
        EXPECT_THAT(refused.error().message, HasSubstr(said));
        EXPECT_EQ(read_all(file), content);
    }
    std::filesystem::remove(file);
    ASSERT_EQ(mkfifo(file.c_str(), 0600), 0);
    EXPECT_FALSE(index("path\na.mp4\n"));
    std::filesystem::remove(file);
    auto const held = IndexFile::open(file);
    ASSERT_TRUE(held) << held.error().message;
    EXPECT_EQ(index("path\na.mp4\n").error().code, Errc::busy);
    auto const itself = index_clips({.manifest = folder_.file("clips.csv"),
                                     .index = folder_.file("other.index"),
                                     .out = folder_.file("clips.csv"),
                                     .columns = {}});
    ASSERT_FALSE(itself);
    EXPECT_THAT(itself.error().message, HasSubstr("is the manifest itself"));
}

}  // namespace
}  // namespace osora::worker
