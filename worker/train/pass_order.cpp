#include "worker/train/pass_order.hpp"

#include <algorithm>

namespace osora::worker {

std::vector<StagePass> pass_order(Pipeline const& of, int stage, std::int64_t micro_batches) {
    auto const [stages, virtual_stages, eager] = of;
    std::int64_t const behind = stages - 1 - stage;
    bool const is_early = eager || virtual_stages > 1;
    std::int64_t const ahead =
        (is_early ? 2 * behind : behind) + std::int64_t{virtual_stages - 1} * stages;
    // The last group counts as a whole one, so that no stage waits for another that waits for it;
    // its passes that do not exist are left out.
    std::int64_t const groups = (micro_batches + stages - 1) / stages;
    std::int64_t const places = groups * stages * virtual_stages;
    std::vector<StagePass> order;
    auto const add = [&](bool forward, std::int64_t place) {
        std::int64_t const in_group = place % (std::int64_t{stages} * virtual_stages);
        auto const part = static_cast<int>(in_group / stages);
        std::int64_t const micro_batch =
            place / (std::int64_t{stages} * virtual_stages) * stages + in_group % stages;
        if (micro_batch >= micro_batches) return;
        order.push_back({forward, forward ? part : virtual_stages - 1 - part, micro_batch});
    };
    for (std::int64_t place = 0; place < places + ahead; ++place) {
        if (place < places) add(true, place);
        if (place >= ahead) add(false, place - ahead);
    }
    return order;
}

}  // namespace osora::worker
