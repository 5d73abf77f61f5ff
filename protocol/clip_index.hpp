// What `osora data index` requests of osora-clips, its answer, and a row of the index file.
#pragma once

#include "protocol/clip_requests.hpp"

namespace osora::protocol {

struct ClipIndexRow {
    std::string path;  // absolute
    std::int64_t size_bytes = 0, mtime_ns = 0;
    std::string container, codec;             // FFmpeg's names
    int height = 0, width = 0;                // pixels, as players show it
    int stored_height = 0, stored_width = 0;  // pixels, as stored
    int rotation = 0;                         // degrees clockwise
    bool mirrored = false;                    // left and right, after the rotation
    int pixel_width = 1, pixel_height = 1;    // sample aspect ratio
    int num_frames = 0;                       // as the ffmpeg program counts them
    double fps = 0, duration_s = 0;           // fps 0: unknown, or an image
    bool constant_rate = true;
    std::int64_t packets = 0, num_keyframes = 0;
    std::int64_t gop_frames_median = 0, gop_frames_max = 0;  // from keyframe to keyframe
    double gop_s_max = 0;
    double decode_ms_per_frame = 0;            // CPU time at one spot; 0: did not decode
    int time_base_num = 1, time_base_den = 1;  // seconds of one unit of key_dts
    /// The first 65,536 keyframes; both empty if every packet is one.
    std::vector<std::int64_t> key_dts, key_positions;  // decoding time; byte in the file
};
BOOST_DESCRIBE_STRUCT(ClipIndexRow, (),
                      (path, size_bytes, mtime_ns, container, codec, height, width, stored_height,
                       stored_width, rotation, mirrored, pixel_width, pixel_height, num_frames, fps,
                       duration_s, constant_rate, packets, num_keyframes, gop_frames_median,
                       gop_frames_max, gop_s_max, decode_ms_per_frame, time_base_num, time_base_den,
                       key_dts, key_positions))

struct ClipIndexRequest {
    std::string manifest;
    std::string index;                                // the file that is made or continued
    std::string out;                                  // the filled manifest; empty: none
    double deadline_s = 30;                           // per file
    int workers = 0;                                  // threads; 0: the calling one
    bool progress = false;                            // on stderr
    std::map<std::string, std::string> columns = {};  // of the manifest, as [data] columns
};
BOOST_DESCRIBE_STRUCT(ClipIndexRequest, (),
                      (manifest, index, out, deadline_s, workers, progress, columns))

struct ClipIndex {
    std::string schema = "osora.data_index/1";
    std::string index, out;
    std::int64_t rows = 0;           // of the manifest
    std::int64_t read = 0;           // clips that were opened
    std::int64_t kept = 0;           // clips that the index had, with the same size and mtime
    std::int64_t damaged_lines = 0;  // of the index, dropped
    double seconds = 0;
    std::int64_t frames = 0;
    double duration_s = 0;
    std::map<std::string, std::int64_t> codecs, containers, resolutions;  // clips of each
    std::int64_t variable_rate = 0, rotated = 0;                          // clips
    std::int64_t gop_frames_median = 0, gop_frames_max = 0;  // of the clips' medians; of all
    double gop_s_max = 0;
    std::int64_t long_gops = 0;                  // clips with a keyframe distance of more than 10 s
    double decode_ms_per_frame = 0;              // median
    std::map<std::string, std::int64_t> filled;  // cells of `out` by column
    std::vector<DamagedClip> failures;           // in the order of the manifest
};
BOOST_DESCRIBE_STRUCT(ClipIndex, (),
                      (schema, index, out, rows, read, kept, damaged_lines, seconds, frames,
                       duration_s, codecs, containers, resolutions, variable_rate, rotated,
                       gop_frames_median, gop_frames_max, gop_s_max, long_gops, decode_ms_per_frame,
                       filled, failures))

}  // namespace osora::protocol
