#include "worker/jobs/rehearse/rehearsed_ranks.hpp"

#include <ATen/ops/empty.h>
#include <c10/util/accumulate.h>

namespace osora::worker {
namespace {

at::Tensor with_memory(at::Tensor const& like, Exchanging const& exchanging) {
    return at::empty(like.sizes(), like.options().requires_grad(false).device(exchanging.device));
}

at::Tensor of_sizes(at::IntArrayRef sizes, at::Tensor const& like) {
    return at::empty(sizes, like.options().requires_grad(false));
}

/// Keeps what is sent and what arrives.
class KeptPassing final : public RingRanks::Passing {
public:
    KeptPassing() = default;
    KeptPassing(RingRanks& ring, at::Tensor values, at::Tensor into)
        : values_(std::move(values)),
          into_(std::move(into)),
          passing_(ring.pass_on(values_, into_)) {}
    void wait() override {
        if (passing_) passing_->wait();
    }

private:
    at::Tensor values_, into_;
    std::unique_ptr<RingRanks::Passing> passing_;
};

}  // namespace

at::Tensor RehearsedTokens::all_to_all(at::Tensor const& values,
                                       std::vector<std::int64_t> const& send,
                                       std::vector<std::int64_t> const& receive) {
    if (!exchanging_.counting) {
        exchanging_.before();
        static_cast<void>(ranks_->all_to_all(with_memory(values, exchanging_), send, receive));
    }
    return of_sizes({c10::sum_integers(receive)}, values);
}

at::Tensor RehearsedTokens::all_gather(at::Tensor const& own) {
    if (!exchanging_.counting) {
        exchanging_.before();
        static_cast<void>(ranks_->all_gather(with_memory(own, exchanging_)));
    }
    auto sizes = own.sizes().vec();
    sizes.insert(sizes.begin(), ranks_->size());
    return of_sizes(sizes, own);
}

std::unique_ptr<RingRanks::Passing> RehearsedTokens::pass_on(at::Tensor const& values,
                                                             at::Tensor const& into) {
    if (exchanging_.counting) return std::make_unique<KeptPassing>();
    exchanging_.before();
    return std::make_unique<KeptPassing>(*ranks_->ring(), with_memory(values, exchanging_),
                                         with_memory(into, exchanging_));
}

void RehearsedStages::pass(at::Tensor const& like, Message message) {
    if (exchanging_.counting) return;
    exchanging_.before();
    (ranks_.get()->*message)(with_memory(like, exchanging_));
}

}  // namespace osora::worker
