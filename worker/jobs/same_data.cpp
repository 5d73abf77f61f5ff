// Small all_reduces of a row for each rank.
#include "worker/jobs/same_data.hpp"

#include <ATen/ops/zeros.h>
#include <torch/csrc/distributed/c10d/Backend.hpp>

#include <algorithm>
#include <exception>
#include <vector>

namespace osora::worker {
namespace {

/// The rows of all ranks, each of `columns` numbers, one after the other.
std::vector<std::int64_t> rows_of_ranks(Group const& group, std::vector<std::int64_t> const& own,
                                        std::int64_t columns) {
    // Each rank fills a separate row: the sum over ranks has all rows.
    std::vector<at::Tensor> rows{at::zeros({group.world_size(), columns}, at::kLong)};
    auto* const all = rows[0].mutable_data_ptr<std::int64_t>();
    std::ranges::copy(own, all + std::ptrdiff_t{columns} * group.rank());
    group.backend().allreduce(rows)->wait();
    auto const* const sums = rows[0].const_data_ptr<std::int64_t>();
    return {sums, sums + rows[0].numel()};
}

}  // namespace

Result<void> check_same_data(std::optional<Group> const& group, ReadSummary const& own) {
    if (!group || group->world_size() == 1) return {};
    std::vector<ReadSummary> all;
    try {
        auto const rows = rows_of_ranks(*group, {own.hash, own.clips, own.gone}, 3);
        for (std::size_t i = 0; i < rows.size(); i += 3)
            all.push_back({.hash = rows[i], .clips = rows[i + 1], .gone = rows[i + 2]});
    } catch (std::exception const& error) {
        return Error{Errc::unreachable, std::string("compare data: ") + error.what()};
    }
    auto differ = ranks_that_differ(all);
    if (differ.empty()) return {};
    return Error{Errc::corrupt, std::move(differ)};
}

Result<CrashedClips> agree_on_crashed(std::optional<Group> const& group, CrashedClips const& own) {
    if (!group || group->world_size() == 1) return own;
    try {
        auto const numbers = own.numbers();
        auto const count = static_cast<std::int64_t>(numbers.size());
        auto const most = std::ranges::max(rows_of_ranks(*group, {count}, 1));
        if (most == 0) return CrashedClips{};
        return CrashedClips::of(rows_of_ranks(*group, numbers, most));
    } catch (std::exception const& error) {
        return Error{Errc::unreachable, std::string("compare crashed clips: ") + error.what()};
    }
}

}  // namespace osora::worker
