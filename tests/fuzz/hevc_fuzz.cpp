// Damaged HEVC headers and slices: either all packets have an answer, or none has.
#include "tests/fuzz/mutate.hpp"
#include "tests/fuzz/rounds.hpp"
#include "tests/unit/worker/data/clips.hpp"
#include "worker/data/frames/demux.hpp"
#include "worker/data/frames/hevc_references.hpp"
#include "worker/data/frames/shown_frames.hpp"

#include <gtest/gtest.h>

namespace osora::worker {
namespace {

std::span<std::uint8_t const> bytes_of(std::string const& text) {
    return {reinterpret_cast<std::uint8_t const*>(text.data()), text.size()};
}

TEST(HevcFuzz, DamageGivesAnAnswerForAllPacketsOrNone) {
    TempFolder folder;
    std::string const path = folder.file("a.mp4");
    if (!have_ffmpeg() || !make_clip(path, "64x64", 1.2,
                                     {"-c:v", "libx265", "-pix_fmt", "yuv420p", "-x265-params",
                                      "keyint=12:bframes=4:ref=3:log-level=none"})) {
        GTEST_SKIP() << "no ffmpeg program with this encoder";
    }
    CallGuard guard(30.0, nullptr);
    auto demuxer = Demuxer::open(path, guard, 1 << 20);
    Packet const packet(av_packet_alloc());
    AVCodecParameters const& codec = *demuxer->stream()->codecpar;
    std::vector<std::string> const headers{
        std::string(codec.extradata, codec.extradata + codec.extradata_size)};
    std::vector<std::string> packets;
    while (demuxer->read(*packet).value()) {
        auto const bytes = packet_bytes(*packet);
        packets.emplace_back(bytes.begin(), bytes.end());
    }
    fuzz::Mutator mutator(29);
    std::size_t answered = 0;
    for (fuzz::Rounds rounds(3000); rounds.next();) {
        bool const damage_headers = mutator.pick(4) == 0;
        HevcReferences references(
            bytes_of(damage_headers ? mutator.mutate(headers) : headers.front()));
        std::size_t const damaged = mutator.pick(2 * packets.size());
        for (std::size_t i = 0; i < packets.size(); ++i)
            references.add(bytes_of(i == damaged ? mutator.mutate(packets) : packets[i]));
        std::vector<bool> wanted(packets.size());
        wanted[mutator.pick(packets.size())] = true;
        std::size_t const first = mutator.pick(packets.size());
        auto const needed = references.needed(wanted, first);
        if (needed.empty()) continue;
        ++answered;
        ASSERT_EQ(needed.size(), packets.size()) << "round " << rounds.done();
        for (std::size_t i = first; i < wanted.size(); ++i)
            ASSERT_TRUE(needed[i] || !wanted[i]) << "round " << rounds.done();
    }
    EXPECT_GT(answered, 0u);
}

}  // namespace
}  // namespace osora::worker
