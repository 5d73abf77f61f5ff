#include "worker/train/objective/token_sampler.hpp"

#include "worker/train/objective/rectified_flow_v2.hpp"

#include <ATen/ops/add.h>
#include <ATen/ops/full.h>
#include <ATen/ops/linspace.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/sub.h>

namespace osora::worker {

std::vector<double> token_times(std::int64_t steps, double alpha) {
    at::Tensor const times = time_shift(at::linspace(1, 0, steps + 1, at::kFloat), alpha);
    auto const* first = times.const_data_ptr<float>();
    return {first, first + times.numel()};
}

at::Tensor sample_tokens(std::vector<double> const& times, double guidance, at::Tensor x,
                         TokenNetwork const& network) {
    for (std::size_t i = 0; i + 1 < times.size(); ++i) {
        at::Tensor const t = at::full({x.size(0)}, times[i], x.options());
        at::Tensor velocity = network.with_caption(x, t);
        if (network.without_caption) {
            at::Tensor const null = network.without_caption(x, t);
            velocity = at::add(null, at::mul(at::sub(velocity, null), guidance));
        }
        x = at::add(x, at::mul(velocity, times[i + 1] - times[i]));
    }
    return x;
}

}  // namespace osora::worker
