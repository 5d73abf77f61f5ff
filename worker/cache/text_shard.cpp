#include "worker/cache/text_shard.hpp"

#include "worker/cache/shard_tensors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <span>

namespace osora::worker {
namespace {

std::span<std::int64_t const> numbers(at::Tensor const& tensor) {
    return {tensor.const_data_ptr<std::int64_t>(), static_cast<std::size_t>(tensor.numel())};
}

/// Every caption has a token, the rows are used from end to end, and hashes ascend.
Result<void> check_rows(TextRows const& rows, TextFormat const& format, std::int64_t first) {
    auto const offsets = numbers(rows.offset);
    auto const hashes = numbers(rows.caption);
    if (offsets.front() != 0 || offsets.back() != rows.embedding.size(0))
        return Error{Errc::corrupt, "offsets do not cover the embeddings"};
    for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
        if (offsets[i + 1] <= offsets[i])
            return Error{Errc::corrupt, fmt::format("caption {} has no tokens", i)};
        if (offsets[i + 1] - offsets[i] > format.max_tokens)
            return Error{Errc::corrupt,
                         fmt::format("caption {} has {} tokens, the index allows {}", i,
                                     offsets[i + 1] - offsets[i], format.max_tokens)};
    }
    bool const sorted = std::ranges::is_sorted(hashes, std::less_equal{});
    if (!sorted || hashes.front() != first) return Error{Errc::corrupt, "hashes are out of order"};
    return {};
}

}  // namespace

Result<void> write_text_shard(std::filesystem::path const& path, TextRows const& rows,
                              ShardMark const& mark) {
    std::vector<NamedTensor> tensors{
        {"embedding", rows.embedding}, {"caption", rows.caption}, {"offset", rows.offset}};
    if (rows.pooled.defined()) tensors.push_back({"pooled", rows.pooled});
    return save_safetensors(path, tensors, shard_metadata(mark, rows.caption.size(0)));
}

Result<TextRows> read_text_shard(std::filesystem::path const& path, TextFormat const& format,
                                 TextShard const& shard) {
    OSORA_TRY(auto const tensors, ShardTensors::open(path));
    auto const type = cache_type(format.dtype);
    TextRows rows;
    OSORA_TRY(rows.caption, tensors.take("caption", at::kLong, {shard.captions}));
    OSORA_TRY(rows.offset, tensors.take("offset", at::kLong, {shard.captions + 1}));
    OSORA_TRY(rows.embedding, tensors.take("embedding", type, {-1, format.channels}));
    if (format.pooled > 0) {
        OSORA_TRY(rows.pooled, tensors.take("pooled", type, {shard.captions, format.pooled}));
    }
    auto const checked = check_rows(rows, format, shard.first);
    if (checked.has_error()) return Error(checked.error()).in(path.string());
    return rows;
}

}  // namespace osora::worker
