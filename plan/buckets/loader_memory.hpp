// Host memory of a rank's loader, computed before it starts: batch slots and decoders. Pure.
#pragma once

#include "base/result.hpp"
#include "plan/buckets/shapes.hpp"

#include <cstdint>

namespace osora::plan {

struct LoaderSizes {
    std::int64_t slot_bytes = 0;       // the largest batch of this rank, see batch_bytes()
    std::int64_t clip_pixels_max = 0;  // coded_pixels() of the largest source clip
    int num_workers = 2;               // decoding threads; 0: decode in next()
    int prefetch_factor = 2;           // batches ready or in progress while one is being trained on
};

struct LoaderMemory {
    int slots = 0;
    std::int64_t slot_bytes = 0;
    int decoders = 0;
    std::int64_t decoder_bytes = 0;  // of one decoder, upper bound
    std::int64_t total_bytes = 0;
};

/// uint8 RGB of `samples` samples of a bucket.
[[nodiscard]] std::int64_t batch_bytes(BucketKey const& key, std::int64_t samples);

/// Pixels of a picture in a decoder's memory: whole blocks of 64 x 64 (1080 rows are 1088).
[[nodiscard]] std::int64_t coded_pixels(int height, int width);

/// One decoding thread: 20 pictures of 8-bit 4:2:0 (the 16 references that H.264 and HEVC allow at
/// most, one in work, the converter's), and 8 MiB for the container, tables and packets.
[[nodiscard]] std::int64_t decoder_bytes(std::int64_t clip_pixels_max);

[[nodiscard]] LoaderMemory loader_memory(LoaderSizes const& sizes);
/// Of the second loader of a rank, for evaluations: one thread at most, one batch ahead.
[[nodiscard]] std::int64_t evaluation_loader_bytes(std::int64_t slot_bytes,
                                                   std::int64_t clip_pixels_max);

/// out_of_memory when the sum exceeds `host_memory_bytes`; the message has the terms and what would
/// fit: fewer prefetched batches, fewer workers, or the memory needed.
[[nodiscard]] Result<LoaderMemory> check_loader_memory(LoaderSizes const& sizes,
                                                       std::int64_t host_memory_bytes);

}  // namespace osora::plan
