// One small all_reduce.
#include "worker/jobs/same_data.hpp"

#include <ATen/ops/zeros.h>
#include <torch/csrc/distributed/c10d/Backend.hpp>

#include <exception>
#include <vector>

namespace osora::worker {

Result<void> check_same_data(std::optional<Group> const& group, ReadSummary const& own) {
    if (!group || group->world_size() == 1) return {};
    std::vector<ReadSummary> all;
    int const rank = group->rank();
    try {
        // Each rank fills a separate row: the sum over ranks has all rows.
        std::vector<at::Tensor> rows{at::zeros({group->world_size(), 3}, at::kLong)};
        auto* const mine = rows[0].mutable_data_ptr<std::int64_t>() + std::ptrdiff_t{3} * rank;
        mine[0] = own.hash;
        mine[1] = own.clips;
        mine[2] = own.gone;
        group->backend().allreduce(rows)->wait();
        auto const* row = rows[0].const_data_ptr<std::int64_t>();
        for (int i = 0; i < group->world_size(); ++i, row += 3)
            all.push_back({.hash = row[0], .clips = row[1], .gone = row[2]});
    } catch (std::exception const& error) {
        return Error{Errc::unreachable, std::string("compare data: ") + error.what()};
    }
    auto differ = ranks_that_differ(all);
    if (differ.empty()) return {};
    return Error{Errc::corrupt, std::move(differ)};
}

}  // namespace osora::worker
