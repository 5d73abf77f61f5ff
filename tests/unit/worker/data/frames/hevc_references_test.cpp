// References of HEVC pictures against the lists that the encoder itself wrote to its log.
#include "worker/data/frames/hevc_references.hpp"

#include "tests/unit/worker/data/clips.hpp"
#include "worker/data/frames/demux.hpp"
#include "worker/data/frames/shown_frames.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <sstream>

namespace osora::worker {
namespace {

/// x265's log has a line a picture in decoding order; column 3 is the POC, from 0 after an IDR
/// picture, 10 and 11 are the lists. Returns the numbers of the pictures that each refers to.
std::vector<std::vector<std::size_t>> read_log(std::string const& text) {
    std::vector<std::vector<std::size_t>> pictures;
    std::map<int, std::size_t> at;  // by POC
    std::istringstream lines(text);
    std::string line;
    std::getline(lines, line);
    while (std::getline(lines, line)) {
        if (line.find("SLICE") == std::string::npos) continue;
        std::vector<std::size_t> to;
        std::istringstream columns(line);
        std::string column;
        for (int number = 1; std::getline(columns, column, ','); ++number) {
            if (number == 3 && std::stoi(column) == 0) at.clear();
            if (number == 3) at[std::stoi(column)] = pictures.size();
            if (number != 10 && number != 11) continue;
            std::istringstream list(column);
            for (int poc = 0; list >> poc;) to.push_back(at.at(poc));
        }
        pictures.push_back(to);
    }
    return pictures;
}

struct Clip {
    HevcReferences references{{}};
    std::vector<bool> key;
};

Clip read_clip(std::string const& path) {
    CallGuard guard(30.0, nullptr);
    auto demuxer = Demuxer::open(path, guard, 1 << 20);
    Packet const packet(av_packet_alloc());
    AVCodecParameters const& codec = *demuxer->stream()->codecpar;
    Clip clip;
    clip.references =
        HevcReferences(std::span(codec.extradata, static_cast<std::size_t>(codec.extradata_size)));
    while (demuxer->read(*packet).value()) {
        clip.references.add(packet_bytes(*packet));
        clip.key.push_back((packet->flags & AV_PKT_FLAG_KEY) != 0);
    }
    return clip;
}

class EncodersLists : public testing::TestWithParam<char const*> {};

TEST_P(EncodersLists, SayWhatAPictureNeeds) {
    silence_ffmpeg();
    TempFolder folder;
    std::string const path = folder.file("a.mp4");
    std::string const settings =
        fmt::format("{}:csv={}:csv-log-level=2:log-level=none", GetParam(), folder.file("log.csv"));
    if (!have_ffmpeg() ||
        !make_clip(path, "176x144", 3.0,
                   {"-c:v", "libx265", "-pix_fmt", "yuv420p", "-x265-params", settings})) {
        GTEST_SKIP() << "no ffmpeg program with this encoder";
    }
    auto const log = read_log(read_all(folder.file("log.csv")));
    Clip const clip = read_clip(path);
    ASSERT_EQ(log.size(), 75u);
    ASSERT_EQ(clip.key.size(), log.size());
    std::size_t skipped = 0;
    for (std::size_t wanted = 0; wanted < log.size(); ++wanted) {
        std::vector<bool> expected(clip.key);
        std::vector<std::size_t> left{wanted};
        for (std::size_t i = 0; i < log.size(); ++i)
            if (clip.key[i]) left.push_back(i);
        while (!left.empty()) {
            std::size_t const i = left.back();
            left.pop_back();
            expected[i] = true;
            for (std::size_t const to : log[i])
                if (!expected[to]) left.push_back(to);
        }
        std::vector<bool> only(log.size());
        only[wanted] = true;
        EXPECT_EQ(clip.references.needed(only, 0), expected) << "packet " << wanted;
        skipped += static_cast<std::size_t>(std::ranges::count(expected, false));
    }
    EXPECT_GT(skipped, 0u);
}

INSTANTIATE_TEST_SUITE_P(
    Encodings, EncodersLists,
    testing::Values("keyint=30:bframes=5:ref=3:slices=2", "keyint=60:bframes=8:b-adapt=0:ref=5",
                    "keyint=25:open-gop=0:bframes=3:b-adapt=0:ref=1:weightb=1",
                    "keyint=40:bframes=3:temporal-layers=1:ref=4:no-sao=1",
                    "keyint=75:bframes=0:ref=6:ctu=16:no-temporal-mvp=1:amp=1",
                    "keyint=30:bframes=4:b-pyramid=0:ref=2:scaling-list=default:no-deblock=1"));

/// Packets of an mp4 with an IDR picture every 10 pictures, to be changed.
class ChangedStream : public testing::Test {
protected:
    using Nal = std::vector<std::uint8_t>;

    void SetUp() override {
        silence_ffmpeg();
        TempFolder const folder;
        std::string const path = folder.file("a.mp4");
        std::string const settings =
            "keyint=10:min-keyint=10:open-gop=0:scenecut=0:bframes=3:log-level=none";
        if (!have_ffmpeg() ||
            !make_clip(path, "64x64", 1.2,
                       {"-c:v", "libx265", "-pix_fmt", "yuv420p", "-x265-params", settings})) {
            GTEST_SKIP() << "no ffmpeg program with this encoder";
        }
        CallGuard guard(30.0, nullptr);
        auto demuxer = Demuxer::open(path, guard, 1 << 20);
        Packet const packet(av_packet_alloc());
        AVCodecParameters const& codec = *demuxer->stream()->codecpar;
        headers_.assign(codec.extradata, codec.extradata + codec.extradata_size);
        while (demuxer->read(*packet).value()) {
            auto const bytes = packet_bytes(*packet);
            packets_.emplace_back(bytes.begin(), bytes.end());
        }
        ASSERT_EQ(packets_.size(), 30u);
        ASSERT_TRUE(is_known());
    }

    [[nodiscard]] bool is_known(std::size_t first = 0) const {
        HevcReferences references{std::span<std::uint8_t const>(headers_)};
        for (Nal const& packet : packets_) references.add(packet);
        return !references.needed(std::vector<bool>(packets_.size()), first).empty();
    }
    void put_before(std::size_t packet, Nal const& nal) {
        Nal sized{0, 0, 0, static_cast<std::uint8_t>(nal.size())};
        sized.insert(sized.end(), nal.begin(), nal.end());
        packets_[packet].insert(packets_[packet].begin(), sized.begin(), sized.end());
    }

    Nal headers_;
    std::vector<Nal> packets_;
};

/// FFmpeg ends the stream for one of another layer as well.
TEST_F(ChangedStream, AfterAnEndNothingIsKnown) {
    for (std::uint8_t const layer : {0, 1}) {
        auto const whole = packets_;
        put_before(10, {36 << 1, static_cast<std::uint8_t>(layer << 3 | 1)});
        EXPECT_FALSE(is_known()) << int{layer};
        packets_ = whole;
    }
}

/// no_output_of_prior_pics_flag of an IDR picture: what waits for output is lost, and more waits
/// where fewer pictures are decoded.
TEST_F(ChangedStream, PicturesThatAreDroppedAtAKeyframeMakeItUnknown) {
    constexpr std::uint8_t kFirst = 0x80, kDrops = 0x40;
    auto const drop_at = [&](std::size_t packet) {
        Nal& bytes = packets_[packet];
        for (std::size_t at = 0; at + 6 < bytes.size();) {
            std::size_t const size = std::size_t{bytes[at + 2]} << 8 | bytes[at + 3];
            bool const idr = bytes[at + 4] >> 1 == 19 || bytes[at + 4] >> 1 == 20;
            if (idr && (bytes[at + 6] & kFirst) != 0) bytes[at + 6] |= kDrops;
            at += 4 + size;
        }
    };
    drop_at(0);  // before it there is nothing
    EXPECT_TRUE(is_known());
    drop_at(10);
    EXPECT_FALSE(is_known());
}

/// A film grain with persistence counts for later pictures, so its packet must be sent.
TEST_F(ChangedStream, AFilmGrainOfAPictureThatMayBeLeftOutMakesItUnknown) {
    Nal const grain{39 << 1, 1, 19, 1, 0xff, 0x80}, picture_timing{39 << 1, 1, 1, 1, 0xff, 0x80};
    put_before(10, grain);
    put_before(13, picture_timing);
    EXPECT_TRUE(is_known());
    put_before(13, grain);
    EXPECT_FALSE(is_known());
}

TEST_F(ChangedStream, ASecondSetOfTheSameNumberMakesItUnknown) {
    std::size_t at = 23;
    Nal pictures;
    for (int left = headers_[22]; left > 0; --left) {
        int const type = headers_[at] & 63;
        int const count = headers_[at + 1] << 8 | headers_[at + 2];
        at += 3;
        for (int i = 0; i < count; ++i) {
            std::size_t const size = std::size_t{headers_[at]} << 8 | headers_[at + 1];
            auto const nal = headers_.begin() + static_cast<std::ptrdiff_t>(at + 2);
            if (type == 34) pictures.assign(nal, nal + static_cast<std::ptrdiff_t>(size));
            at += 2 + size;
        }
    }
    ASSERT_FALSE(pictures.empty());
    ASSERT_EQ(at, headers_.size());
    auto const add = [&] {
        ++headers_[22];
        headers_.insert(headers_.end(), {34, 0, 1, 0, static_cast<std::uint8_t>(pictures.size())});
        headers_.insert(headers_.end(), pictures.begin(), pictures.end());
    };
    add();
    EXPECT_TRUE(is_known());
    pictures.push_back(0);
    add();
    EXPECT_FALSE(is_known());
}

TEST_F(ChangedStream, AStartElsewhereThanAtAnIdrPictureIsUnknown) {
    EXPECT_TRUE(is_known(10));
    EXPECT_FALSE(is_known(12));
}

TEST(HevcReferencesOf, OtherHeadersAreNotGuessed) {
    HevcReferences references(std::vector<std::uint8_t>{1, 2, 3});
    references.add(std::vector<std::uint8_t>{0, 0, 0, 3, 2, 1, 0xd0});
    EXPECT_TRUE(references.needed({true}, 0).empty());
}

}  // namespace
}  // namespace osora::worker
