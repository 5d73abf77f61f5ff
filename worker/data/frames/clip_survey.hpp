// What `osora data index` keeps of a clip: facts, and the packets of its video. The rules that make
// figures of packets are pure.
#pragma once

#include "worker/data/frames/decoder.hpp"
#include "worker/data/frames/frame_table.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace osora::worker {

struct SurveyedPacket {
    PacketTime time;             // in the stream's time base; pts is kNoTime in an mp4's index
    std::int64_t position = -1;  // byte in the file; -1: the container does not say
};

struct ClipSurvey {
    ClipFacts facts;
    std::string container;                  // FFmpeg's name: "mov,mp4,m4a,3gp,3g2,mj2"
    int rotation = 0;                       // degrees clockwise: 0, 90, 180, 270
    bool mirrored = false;                  // left and right are swapped after the rotation
    int pixel_width = 1, pixel_height = 1;  // sample aspect ratio
    int time_base_num = 1, time_base_den = 1;
    std::vector<SurveyedPacket> packets;  // in decoding order; empty: an image
};

/// Seconds and packets from a keyframe to the next one, or to the end.
struct Spacing {
    double s = 0;
    std::int64_t packets = 0;
};

struct PacketFigures {
    double duration_s = 0;            // of the shown frames, the last one included
    bool constant_rate = true;        // equal distances, up to rounding to the time base
    std::vector<Spacing> keyframes;   // in the order of the file
    std::int64_t cheap_keyframe = 0;  // shown frames before the keyframe nearest to the middle
};

/// Distances that differ by at most 2 ticks or 1 % of the usual one are equal.
[[nodiscard]] PacketFigures figures_of(ClipSurvey const& survey);

}  // namespace osora::worker
