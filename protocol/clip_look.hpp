// What `osora data look` requests of osora-clips, and the answer: one JSON object each way.
#pragma once

#include "protocol/json.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace osora::protocol {

/// A [[bucket]] of the run.
struct LookBucket {
    std::string resolution;
    int num_frames = 1;
    double keep_prob = 1;
};
BOOST_DESCRIBE_STRUCT(LookBucket, (), (resolution, num_frames, keep_prob))

struct ClipLookRequest {
    std::string manifest;
    std::map<std::string, std::string> columns;  // of the manifest, as [data] columns
    std::vector<LookBucket> buckets;             // in the order of the run file
    int multiple = 1;                            // sides of samples are multiples of it
    bool images_from_videos = false;
    std::int64_t seed = 0;            // train.seed
    int entry = -1;                   // show this bucket only; -1: each clip's largest share
    int clips = 8;                    // evenly spread over the list
    std::vector<std::string> chosen;  // paths or lines, in place of `clips`
    int width_max = 2048;             // of the picture, pixels
    std::string out;                  // the PNG
    double deadline_s = 30;           // per clip
};
BOOST_DESCRIBE_STRUCT(ClipLookRequest, (),
                      (manifest, columns, buckets, multiple, images_from_videos, seed, entry, clips,
                       chosen, width_max, out, deadline_s))

/// A row of the picture.
struct LookedClip {
    int line = 0;      // of the manifest, 1-based
    std::string path;  // as in the row
    std::string kind;  // why it is left out or damaged; empty: it is shown
    std::string reason;
    bool damaged = false;
    std::string resolution;                     // of its bucket; empty: it is in none
    int num_frames = 0, height = 0, width = 0;  // of a sample of the bucket
    double share = 0;                           // of its passes that go to this bucket
    int source_frames = 0, source_height = 0, source_width = 0;
    double fps = 0;                    // 0: unknown
    std::vector<std::int64_t> frames;  // of the sample, counted in the file from 0
    std::vector<std::int64_t> shown;   // those in the picture
    int crop_x = 0, crop_y = 0;        // pixels of the source
    int crop_width = 0, crop_height = 0;
    double scale = 0;  // from the crop to the sample
    int reduced = 1;   // from the sample to the picture: each side by this number
};
BOOST_DESCRIBE_STRUCT(LookedClip, (),
                      (line, path, kind, reason, damaged, resolution, num_frames, height, width,
                       share, source_frames, source_height, source_width, fps, frames, shown,
                       crop_x, crop_y, crop_width, crop_height, scale, reduced))

struct ClipLook {
    std::string schema = "osora.data_look/1";
    std::string out;
    int height = 0, width = 0;  // of the picture, pixels
    std::int64_t rows = 0;      // of the manifest
    std::int64_t seed = 0;
    std::vector<LookedClip> clips;  // from the top of the picture
};
BOOST_DESCRIBE_STRUCT(ClipLook, (), (schema, out, height, width, rows, seed, clips))

}  // namespace osora::protocol
