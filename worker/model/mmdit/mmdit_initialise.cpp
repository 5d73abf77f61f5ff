// Mmdit::initialise: Open-Sora v2.0 keeps the initial values of torch.nn.Linear, U(-a, a) with
// a = 1 / sqrt(inputs) for weight and bias, and starts cond_in at 0.
#include "worker/model/mmdit/mmdit.hpp"
#include "worker/model/seeded_generator.hpp"

#include <ATen/ops/empty.h>
#include <c10/core/GradMode.h>

#include <cmath>

namespace osora::worker {

void Mmdit::initialise(std::uint64_t seed) {
    at::NoGradGuard const no_grad;
    double inputs = 1;  // of the layer whose weight came last: its bias follows it
    for (auto const& entry : parameters_.all()) {
        if (!parameters_.is_here(entry)) continue;
        // Drawn on the CPU in fp32 and copied, so that device and dtype do not change the draws.
        at::Tensor const values = at::empty(parameters_.whole_sizes(entry), at::kFloat);
        if (entry.name.ends_with(".weight")) inputs = static_cast<double>(values.size(1));
        double const limit = 1 / std::sqrt(inputs);
        if (entry.name.ends_with("_norm.scale"))
            values.fill_(1);
        else if (entry.name.starts_with("cond_in."))
            values.zero_();
        else
            values.uniform_(-limit, limit, generator_for(seed, entry.name));
        parameters_.take(entry, values);
    }
}

}  // namespace osora::worker
