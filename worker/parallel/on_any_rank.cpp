#include "worker/parallel/on_any_rank.hpp"

#include "worker/parallel/flight/flight_recorder.hpp"

#include <ATen/ops/full.h>
#include <torch/csrc/distributed/c10d/Backend.hpp>

#include <exception>
#include <string>
#include <vector>

namespace osora::worker {

Result<bool> on_any_rank(std::optional<Group> const& group, bool own) {
    if (!group || group->world_size() == 1) return own;
    std::vector<at::Tensor> words{at::full({1}, own ? 1.0 : 0.0)};
    c10d::AllreduceOptions options;
    FlightRecorder::Label const label("vote of ranks");
    options.reduceOp = c10d::ReduceOp::MAX;
    try {
        group->backend().allreduce(words, options)->wait();
    } catch (std::exception const& error) {
        std::string const why = error.what();
        return Error{Errc::unreachable, "vote of ranks: " + why.substr(0, why.find('\n'))};
    }
    return words.front().item<float>() > 0;
}

}  // namespace osora::worker
