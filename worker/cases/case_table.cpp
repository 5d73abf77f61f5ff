// A new component is one row here, and its header.
#include "worker/cases/case_table.hpp"

#include "base/text/nearest.hpp"
#include "worker/cases/clip_text_case.hpp"
#include "worker/cases/t5_case.hpp"
#include "worker/cases/vae_pipeline_case.hpp"
#include "worker/cases/vae_spatial_case.hpp"
#include "worker/cases/vae_temporal_case.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

namespace osora::worker {
namespace {

// One a line.
// clang-format off
constexpr CaseRow kTable[] = {
    {"clip_text", run_clip_text},
    {"mmdit", run_mmdit_case},
    {"mmdit_train_step", run_mmdit_train_step_case},
    {"rectified_flow", run_rectified_flow_case},
    {"stdit2", run_stdit2_case},
    {"stdit3", run_stdit3_case},
    {"stdit3_tables", run_stdit3_tables_case},
    {"t5", run_t5},
    {"vae_pipeline", run_vae_pipeline},
    {"vae_spatial", run_vae_spatial},
    {"vae_temporal", run_vae_temporal},
};
// clang-format on

}  // namespace

std::span<CaseRow const> case_table() {
    return kTable;
}

Result<CaseFunction> find_case(std::string_view component) {
    std::vector<std::string_view> known;
    for (CaseRow const& row : kTable) {
        if (row.component == component) return row.run;
        known.push_back(row.component);
    }
    auto const nearest = nearest_name(component, known);
    return Error{Errc::not_found,
                 fmt::format("component '{}' is unknown{}; known: {}", component,
                             nearest ? fmt::format("; did you mean {}?", *nearest) : "",
                             fmt::join(known, ", "))};
}

}  // namespace osora::worker
