#include "worker/cache/latent_shard.hpp"

#include "base/files/files.hpp"
#include "plan/buckets/cost.hpp"
#include "worker/cache/shard_tensors.hpp"

#include <algorithm>

namespace osora::worker {

std::filesystem::path shard_list_path(std::filesystem::path shard) {
    return shard.replace_extension(".csv");
}

Result<void> write_latent_shard(std::filesystem::path const& path, LatentRows const& rows,
                                std::string const& csv, ShardMark const& mark) {
    OSORA_TRY_VOID(write_file_atomic(shard_list_path(path), csv));
    std::vector<NamedTensor> tensors{{"mean", rows.mean},
                                     {"caption", rows.caption},
                                     {"row", rows.row},
                                     {"start_frame", rows.start_frame},
                                     {"fps", rows.fps}};
    if (rows.std.defined()) tensors.push_back({"std", rows.std});
    return save_safetensors(path, tensors, shard_metadata(mark, rows.caption.size(0)));
}

Result<LatentRows> read_latent_shard(std::filesystem::path const& path, LatentFormat const& format,
                                     LatentShard const& shard) {
    OSORA_TRY(auto const tensors, ShardTensors::open(path));
    auto const type = cache_type(format.dtype);
    std::vector<std::int64_t> shape{shard.clips};
    std::ranges::copy(latent_shape(format, shard), std::back_inserter(shape));
    LatentRows rows;
    OSORA_TRY(rows.mean, tensors.take("mean", type, shape));
    if (format.std) {
        OSORA_TRY(rows.std, tensors.take("std", type, shape));
    }
    OSORA_TRY(rows.caption, tensors.take("caption", at::kLong, {shard.clips}));
    OSORA_TRY(rows.row, tensors.take("row", at::kLong, {shard.clips}));
    OSORA_TRY(rows.start_frame, tensors.take("start_frame", at::kLong, {shard.clips}));
    OSORA_TRY(rows.fps, tensors.take("fps", at::kDouble, {shard.clips}));
    return rows;
}

std::vector<std::int64_t> latent_shape(LatentFormat const& format, LatentShard const& shard) {
    plan::DitSizes const sizes{.spatial_compression = format.spatial,
                               .temporal_compression = format.temporal,
                               .temporal_chunk = format.chunk_frames};
    return {format.channels, plan::latent_frames(sizes, shard.num_frames),
            shard.height / format.spatial, shard.width / format.spatial};
}

}  // namespace osora::worker
