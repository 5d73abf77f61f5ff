// The components that `osora model` runs: one row each, in case_table.cpp.
#pragma once

#include "worker/cases/case_file.hpp"

#include <span>
#include <string_view>

namespace osora::worker {

struct CaseRow {
    std::string_view component;  // metadata "component" of a case
    CaseFunction run;
};

[[nodiscard]] std::span<CaseRow const> case_table();

/// not_found names the nearest and all known components.
[[nodiscard]] Result<CaseFunction> find_case(std::string_view component);

// Cases without a header: COMPONENT_case.cpp documents its inputs and outputs.
[[nodiscard]] CaseResult run_mmdit_case(CaseFile const& file);
[[nodiscard]] CaseResult run_mmdit_train_step_case(CaseFile const& file);
[[nodiscard]] CaseResult run_rectified_flow_case(CaseFile const& file);
[[nodiscard]] CaseResult run_stdit2_case(CaseFile const& file);
[[nodiscard]] CaseResult run_stdit3_case(CaseFile const& file);
[[nodiscard]] CaseResult run_stdit3_tables_case(CaseFile const& file);

}  // namespace osora::worker
