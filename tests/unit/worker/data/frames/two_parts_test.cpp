// An mp4 with two sample descriptions (ISO/IEC 14496-12, 8.5.2), as joining clips without encoding
// them again makes it: the second half has other codec headers. Its frames are those that the
// ffmpeg program shows.
#include "tests/unit/worker/data/clips.hpp"
#include "worker/data/frames/frame_reader.hpp"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <vector>

namespace osora::worker {
namespace {

constexpr int kPartWidth = 160, kPartHeight = 96, kPartFrames = 48;

struct Part {
    std::string headers;               // avcC
    std::vector<std::string> samples;  // in the order of the file
    std::vector<std::size_t> keys;     // among them
};

Part part_of(std::string const& path) {
    Part part;
    CallGuard guard(60, nullptr);
    auto demuxer = Demuxer::open(path, guard, 1 << 20);
    EXPECT_TRUE(demuxer);
    if (!demuxer) return part;
    AVCodecParameters const& codec = *demuxer->stream()->codecpar;
    part.headers.assign(reinterpret_cast<char const*>(codec.extradata),
                        static_cast<std::size_t>(codec.extradata_size));
    Packet const packet(av_packet_alloc());
    while (demuxer->read(*packet).value()) {
        if ((packet->flags & AV_PKT_FLAG_KEY) != 0) part.keys.push_back(part.samples.size());
        part.samples.emplace_back(reinterpret_cast<char const*>(packet->data),
                                  static_cast<std::size_t>(packet->size));
    }
    return part;
}

/// Big-endian numbers of 32 bits.
std::string words(std::initializer_list<std::size_t> numbers) {
    std::string bytes;
    for (std::size_t const number : numbers) {
        for (int shift = 24; shift >= 0; shift -= 8)
            bytes += static_cast<char>(number >> shift & 0xFF);
    }
    return bytes;
}

std::string mp4_box(std::string const& kind, std::string const& content) {
    return words({8 + content.size()}) + kind + content;
}

/// With version 0 and no flags.
std::string full_box(std::string const& kind, std::string const& content) {
    return mp4_box(kind, words({0}) + content);
}

std::string description(Part const& part) {
    std::string const name(32, '\0');
    return mp4_box("avc1", words({0, 1, 0, 0, 0, 0, std::size_t{kPartWidth} << 16 | kPartHeight,
                                  72 << 16, 72 << 16, 0}) +
                               std::string("\0\1", 2) + name + words({0x0018FFFF}) +
                               mp4_box("avcC", part.headers));
}

/// A chunk for each part, behind `before` bytes of the file.
std::string sample_tables(Part const& a, Part const& b, std::size_t before) {
    std::size_t const count = a.samples.size() + b.samples.size();
    std::string sizes, keys;
    std::size_t first_bytes = 0;
    for (auto const& sample : a.samples) first_bytes += sample.size();
    for (Part const* part : {&a, &b}) {
        std::size_t const base = part == &a ? 0 : a.samples.size();
        for (auto const& sample : part->samples) sizes += words({sample.size()});
        for (auto const key : part->keys) keys += words({base + key + 1});
    }
    return full_box("stsd", words({2}) + description(a) + description(b)) +
           full_box("stts", words({1, count, 512})) +
           full_box("stss", words({a.keys.size() + b.keys.size()}) + keys) +
           full_box("stsc", words({2, 1, a.samples.size(), 1, 2, b.samples.size(), 2})) +
           full_box("stsz", words({0, count}) + sizes) +
           full_box("stco", words({2, before, before + first_bytes}));
}

std::string joined(Part const& a, Part const& b) {
    std::string const start = mp4_box("ftyp", "isom" + words({0}) + "isomavc1");
    std::string data;
    for (Part const* part : {&a, &b})
        for (auto const& sample : part->samples) data += sample;
    std::size_t const ticks = 512 * (a.samples.size() + b.samples.size());
    std::string const matrix = words({0x10000, 0, 0, 0, 0x10000, 0, 0, 0, 0x40000000});
    std::string const references =
        mp4_box("dinf", full_box("dref", words({1}) + mp4_box("url ", words({1}))));
    std::string const tables = mp4_box("stbl", sample_tables(a, b, start.size() + 8));
    std::string const media =
        full_box("mdhd", words({0, 0, 12'800, ticks, 0x55C40000})) +
        full_box("hdlr", words({0}) + "vide" + words({0, 0, 0}) + std::string(1, '\0')) +
        mp4_box("minf", full_box("vmhd", words({0, 0})) + references + tables);
    std::string const track = full_box("tkhd", words({0, 0, 1, 0, ticks, 0, 0, 0, 0}) + matrix +
                                                   words({kPartWidth << 16, kPartHeight << 16})) +
                              mp4_box("mdia", media);
    std::string const movie =
        full_box("mvhd", words({0, 0, 12'800, ticks, 0x10000, 0x1000000, 0, 0}) + matrix +
                             words({0, 0, 0, 0, 0, 0, 2}));
    return start + mp4_box("mdat", data) + mp4_box("moov", movie + mp4_box("trak", track));
}

std::string luma_rows(AVFrame const& frame) {
    std::string bytes;
    for (int y = 0; y < frame.height; ++y) {
        bytes.append(reinterpret_cast<char const*>(frame.data[0] + y * frame.linesize[0]),
                     static_cast<std::size_t>(frame.width));
    }
    return bytes;
}

TEST(TwoParts, EachHasItsOwnHeaders) {
    silence_ffmpeg();
    if (!have_ffmpeg()) GTEST_SKIP() << "no ffmpeg program";
    TempFolder folder;
    // The quantiser that pictures begin with is in the headers.
    std::vector<Part> parts;
    for (char const* const quantiser : {"10", "38"}) {
        std::string const path = folder.file("part.mp4");
        if (!make_clip(path, "160x96", kPartFrames / 25.0,
                       {"-c:v", "libx264", "-qp", quantiser, "-bf", "0", "-g", "12", "-pix_fmt",
                        "yuv420p"}))
            GTEST_SKIP() << "this ffmpeg program lacks the encoder";
        parts.push_back(part_of(path));
        ASSERT_EQ(parts.back().samples.size(), std::size_t{kPartFrames});
    }
    ASSERT_NE(parts[0].headers, parts[1].headers);
    std::string const path = folder.file("joined.mp4");
    write_all(path, joined(parts[0], parts[1]));
    std::string const reference = all_frames(path, "yuv420p", folder.file("raw"));
    constexpr std::size_t kBytes = std::size_t{kPartWidth} * kPartHeight;
    ASSERT_EQ(reference.size(), 2 * kPartFrames * (kBytes * 3 / 2));
    for (int const start : {0, 17, 40, 42, 48, 66, 90}) {
        DecodeCounts counts;
        auto const read = read_frames(
            path, {.start = start, .stride = 1, .num_frames = 6}, {}, counts,
            [&](int index, AVFrame& frame) {
                auto const at = static_cast<std::size_t>(start + index) * (kBytes * 3 / 2);
                EXPECT_TRUE(luma_rows(frame) == reference.substr(at, kBytes)) << start + index;
                return Result<void>();
            });
        EXPECT_TRUE(read) << read.error().message << " at " << start;
    }
}

}  // namespace
}  // namespace osora::worker
