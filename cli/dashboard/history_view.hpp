// The dashboard's view of history.db. A page is made from what the history holds at that moment.
#pragma once

#include "cli/command/history_access.hpp"
#include "cli/dashboard/dashboard_view.hpp"

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>

namespace osora::cli {

class HistoryView final : public DashboardView {
public:
    /// The history to read, `newest` also with what began a moment ago; the pointer is valid until
    /// the next call.
    using History = std::function<Result<OpenHistory const*>(bool newest)>;

    explicit HistoryView(History history) : history_(std::move(history)) {}

    Result<RunList> runs(RunFilter const& filter) override;
    Result<RunPage> run(std::string const& id) override;
    Result<ReportPage> series(std::string const& name) override;
    Result<ReportPage> diff(std::string const& a, std::string const& b) override;

private:
    History history_;
};

/// history.db of a state folder, updated from the journals at most every kEvery: many readers cost
/// no more than one.
class FreshHistory {
public:
    static constexpr std::chrono::seconds kEvery{2};

    explicit FreshHistory(std::filesystem::path state) : state_(std::move(state)) {}

    [[nodiscard]] Result<OpenHistory const*> get(bool newest);

private:
    std::filesystem::path state_;
    std::optional<OpenHistory> open_;
    std::chrono::steady_clock::time_point opened_{};
};

}  // namespace osora::cli
