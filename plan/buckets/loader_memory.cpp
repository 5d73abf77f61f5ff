// The loader's memory as a sum of terms, and advice when it does not fit.
#include "plan/buckets/loader_memory.hpp"

#include "base/check.hpp"
#include "base/text/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace osora::plan {
namespace {

constexpr std::int64_t kPictures = 20;
constexpr std::int64_t kDecoderFixedBytes = 8 * kMiB;

std::string advice(LoaderSizes const& sizes, std::int64_t host_memory_bytes) {
    std::string text;
    for (int prefetch = sizes.prefetch_factor - 1; prefetch >= 1; --prefetch) {
        LoaderSizes smaller = sizes;
        smaller.prefetch_factor = prefetch;
        if (loader_memory(smaller).total_bytes > host_memory_bytes) continue;
        text += fmt::format("prefetch_factor {}, ", prefetch);
        break;
    }
    for (int workers = sizes.num_workers - 1; workers >= 0; --workers) {
        LoaderSizes smaller = sizes;
        smaller.num_workers = workers;
        if (loader_memory(smaller).total_bytes > host_memory_bytes) continue;
        text += fmt::format("num_workers {}, ", workers);
        break;
    }
    return text;
}

}  // namespace

std::int64_t batch_bytes(BucketKey const& key, std::int64_t samples) {
    return samples * key.num_frames * key.height * key.width * 3;
}

std::int64_t coded_pixels(int height, int width) {
    constexpr std::int64_t kBlock = 64;
    auto const whole = [](std::int64_t side) { return (side + kBlock - 1) / kBlock * kBlock; };
    return whole(height) * whole(width);
}

std::int64_t decoder_bytes(std::int64_t clip_pixels_max) {
    return kDecoderFixedBytes + kPictures * (clip_pixels_max * 3 / 2);
}

LoaderMemory loader_memory(LoaderSizes const& sizes) {
    OSORA_CHECK_LE(0, sizes.num_workers);
    OSORA_CHECK_LE(1, sizes.prefetch_factor);
    LoaderMemory memory;
    memory.slots = sizes.num_workers == 0 ? 2 : sizes.prefetch_factor + 1;  // one is trained on
    memory.slot_bytes = sizes.slot_bytes;
    memory.decoders = std::max(sizes.num_workers, 1);
    memory.decoder_bytes = decoder_bytes(sizes.clip_pixels_max);
    memory.total_bytes = memory.slots * memory.slot_bytes + memory.decoders * memory.decoder_bytes;
    return memory;
}

std::int64_t evaluation_loader_bytes(std::int64_t slot_bytes, std::int64_t clip_pixels_max) {
    return loader_memory({.slot_bytes = slot_bytes,
                          .clip_pixels_max = clip_pixels_max,
                          .num_workers = 1,
                          .prefetch_factor = 1})
        .total_bytes;
}

Result<LoaderMemory> check_loader_memory(LoaderSizes const& sizes, std::int64_t host_memory_bytes) {
    LoaderMemory const memory = loader_memory(sizes);
    if (memory.total_bytes <= host_memory_bytes) return memory;
    return Error{Errc::out_of_memory,
                 fmt::format("loader needs {} ({} batches of {} + {} decoders of {}), the host "
                             "memory limit is {}; what fits: {}a limit of {}",
                             format_bytes(memory.total_bytes), memory.slots,
                             format_bytes(memory.slot_bytes), memory.decoders,
                             format_bytes(memory.decoder_bytes), format_bytes(host_memory_bytes),
                             advice(sizes, host_memory_bytes), format_bytes(memory.total_bytes))};
}

}  // namespace osora::plan
