// What `osora data` requests of osora-clips, and the answers: one JSON object each way.
#pragma once

#include "protocol/json.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace osora::protocol {

struct ClipBenchRequest {
    std::string manifest;
    int num_frames = 16;
    int stride = 1;
    std::int64_t start = 0;  // first frame of every clip
    int width = 0, height = 0;
    int workers = 0;                                  // decoding threads; 0: the calling one
    std::map<std::string, std::string> columns = {};  // of the manifest, as [data] columns
};
BOOST_DESCRIBE_STRUCT(ClipBenchRequest, (),
                      (manifest, num_frames, stride, start, width, height, workers, columns))

struct ClipBench {
    std::string schema = "osora.data_bench/1";
    std::int64_t clips = 0;  // decoded
    double cpu_s_per_clip = 0;
    double peak_rss_mib = 0;
    double clips_per_s = 0;
    std::string sha256;
    std::int64_t too_short = 0;  // clips left out because the window does not fit
    std::int64_t skipped = 0;    // rows of the manifest that cannot be used
};
BOOST_DESCRIBE_STRUCT(ClipBench, (),
                      (schema, clips, cpu_s_per_clip, peak_rss_mib, clips_per_s, sha256, too_short,
                       skipped))

struct ClipCheckRequest {
    std::string manifest;
    bool full = false;                                // every frame
    double deadline_s = 30;                           // per file
    int workers = 0;                                  // threads; 0: the calling one
    std::map<std::string, std::string> columns = {};  // of the manifest, as [data] columns
};
BOOST_DESCRIBE_STRUCT(ClipCheckRequest, (), (manifest, full, deadline_s, workers, columns))

struct DamagedClip {
    int line = 0;      // of the manifest, 1-based
    std::string path;  // as in the row
    std::string kind;  // row, missing, empty, unreadable, damaged, short, size, slow,
                       // too_large, crash
    std::string reason;
};
BOOST_DESCRIBE_STRUCT(DamagedClip, (), (line, path, kind, reason))

struct ClipCheck {
    std::string schema = "osora.data_check/1";
    std::string mode;                  // "quick" or "full"
    std::int64_t checked = 0;          // rows of the manifest
    std::vector<DamagedClip> damaged;  // in the order of the manifest
};
BOOST_DESCRIBE_STRUCT(ClipCheck, (), (schema, mode, checked, damaged))

}  // namespace osora::protocol
