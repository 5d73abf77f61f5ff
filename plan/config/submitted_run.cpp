#include "plan/config/submitted_run.hpp"

#include "protocol/json_file.hpp"

#include <fmt/format.h>

namespace osora::plan {
namespace {

/// What is wrong with the facts that every run needs; empty: nothing.
std::string fault_of(protocol::RunSubmitted const& record) {
    if (record.run_uuid.empty()) return "run_uuid: missing";
    if (record.nodes < 1) return fmt::format("nodes: {}, must be at least 1", record.nodes);
    if (record.ranks_per_node >= 1) return "";
    return fmt::format("ranks_per_node: {}, must be at least 1", record.ranks_per_node);
}

}  // namespace

Result<SubmittedRun> submitted_run(protocol::RunSubmitted record) {
    auto const named =
        "run " + (record.run_name.empty() ? std::string("without a name") : record.run_name);
    if (auto fault = fault_of(record); !fault.empty()) return invalid(std::move(fault)).in(named);
    SubmittedRun run;
    if (auto const read = protocol::read_json(record.config, run.config); read.has_error()) {
        return protocol::at_path("config", read.error()).in(named);
    }
    auto origins = protocol::from_json<Origins>(record.origins);
    if (origins.has_value()) run.origins = std::move(*origins);
    run.record = std::move(record);
    return run;
}

Result<protocol::RunSubmitted> read_submission(protocol::RunPaths const& paths) {
    return protocol::read_json_file<protocol::RunSubmitted>(paths.submission());
}

Result<SubmittedRun> read_submitted_run(protocol::RunPaths const& paths) {
    OSORA_TRY(auto record, read_submission(paths));
    auto run = submitted_run(std::move(record));
    if (run.has_error()) return std::move(run).error().in(paths.submission().string());
    return run;
}

}  // namespace osora::plan
