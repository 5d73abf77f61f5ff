// Settings that `osora tune` found, saved for runs of the same shape: STATE/tuned/HASH.json. submit
// prints them as a hint; nothing is set without the user.
#pragma once

#include "cli/command/context.hpp"
#include "plan/config/run_config.hpp"
#include "plan/tune/tune_search.hpp"

#include <string>

namespace osora::cli {

/// The runs that tuned settings apply to: one model on as many nodes of one backend.
struct TuneShape {
    std::string backend, cluster, arch;  // the cluster: partition, or hosts
    int nodes = 1, ranks_per_node = 1;
    friend bool operator==(TuneShape const&, TuneShape const&) = default;
};
[[nodiscard]] TuneShape shape_of(plan::RunConfig const& config);

/// Replaces the settings saved for the shape.
[[nodiscard]] Result<void> remember_tuning(Context const& context, TuneShape const& shape,
                                           plan::TuneSettings const& kept);
/// not_found: this shape was never tuned.
[[nodiscard]] Result<plan::TuneSettings> remembered_tuning(Context const& context,
                                                           TuneShape const& shape);

/// "osora tune kept parallel.grad_bucket_mib=50 for such runs; ..." for settings that `config`
/// lacks; "" when there are none.
[[nodiscard]] std::string tuning_hint(Context const& context, plan::RunConfig const& config);

}  // namespace osora::cli
