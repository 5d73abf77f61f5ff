// Files of NCCL's inspector plug-in: JSON objects in a row, one for each collective of a process
// (format v4). Pure.
#pragma once

#include "base/result.hpp"
#include "db/foreign/logged_run.hpp"

#include <memory>
#include <string>
#include <string_view>

namespace osora::db {

[[nodiscard]] bool is_inspector_log(std::string_view text);

/// Files of one job, which become one run without steps: for each node, collective, number of ranks
/// and size (between two powers of two) the calls, bytes and seconds.
class InspectorLogs {
public:
    InspectorLogs();
    ~InspectorLogs();
    InspectorLogs(InspectorLogs&&) noexcept;
    InspectorLogs& operator=(InspectorLogs&&) noexcept;

    /// invalid_input with the number of the object: no JSON, or not of the inspector. An object
    /// that is cut off at the end of a file is left out and counted in the remarks.
    [[nodiscard]] Result<void> add(std::string_view text);
    /// invalid_input: there was no collective.
    [[nodiscard]] Result<LoggedRun> result() &&;

private:
    struct Sums;
    std::unique_ptr<Sums> sums_;
};

}  // namespace osora::db
