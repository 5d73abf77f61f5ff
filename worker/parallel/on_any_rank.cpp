#include "worker/parallel/on_any_rank.hpp"

#include "worker/parallel/flight/flight_recorder.hpp"

#include <ATen/ops/empty.h>
#include <torch/csrc/distributed/c10d/Backend.hpp>

#include <algorithm>
#include <exception>
#include <string>

namespace osora::worker {

Result<std::vector<double>> largest_of_ranks(std::optional<Group> const& group,
                                             std::vector<double> own, char const* purpose) {
    if (!group || group->world_size() == 1) return own;
    std::vector<at::Tensor> words{at::empty({static_cast<std::int64_t>(own.size())}, at::kDouble)};
    double* const values = words[0].mutable_data_ptr<double>();
    std::ranges::copy(own, values);
    c10d::AllreduceOptions options;
    FlightRecorder::Label const label(purpose);
    options.reduceOp = c10d::ReduceOp::MAX;
    try {
        group->backend().allreduce(words, options)->wait();
    } catch (std::exception const& error) {
        std::string const why = error.what();
        return Error{Errc::unreachable,
                     std::string(purpose) + ": " + why.substr(0, why.find('\n'))};
    }
    double const* const found = words[0].const_data_ptr<double>();
    std::copy_n(found, own.size(), own.begin());
    return own;
}

Result<bool> on_any_rank(std::optional<Group> const& group, bool own) {
    OSORA_TRY(auto const largest, largest_of_ranks(group, {own ? 1.0 : 0.0}, "vote of ranks"));
    return largest.front() > 0;
}

}  // namespace osora::worker
