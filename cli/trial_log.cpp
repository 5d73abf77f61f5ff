#include "cli/trial_log.hpp"

#include "base/env.hpp"
#include "base/files.hpp"
#include "db/sha256.hpp"
#include "protocol/json.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <system_error>
#include <utility>

namespace osora::cli {

TrialLog::TrialLog(std::filesystem::path const& state, std::string kind, std::string series) {
    constexpr std::size_t kIdDigits = 6;
    document_.kind = std::move(kind);
    document_.series = std::move(series);
    if (state.empty()) return;
    auto const call = fmt::format("{} {} {}", document_.series, RealEnv().wall_us(), ::getpid());
    auto const id = db::sha256_hex(call).substr(0, kIdDigits);
    path_ = state / (document_.kind == "tune" ? "tunes" : "bisects") /
            fmt::format("{}-{}.json", document_.kind, id);
}

void TrialLog::add(TrialEnd const& end, std::vector<std::string> changed) {
    if (end.exit_code == kExitInterrupted) return;
    db::InvestigatedTrial trial{.changed = std::move(changed), .run = end.run};
    trial.cost_gpu_s = end.wall_s * std::max(1, end.ranks);
    if (end.failure.empty()) {
        trial.value_s = end.step_s;
    } else {
        trial.status = end.exit_code == kExitUsage ? "cannot_start" : "aborted";
    }
    document_.trials.push_back(std::move(trial));
    write();
}

void TrialLog::end(db::InvestigationEnd end) {
    end.wall_us = RealEnv().wall_us();
    document_.ended = std::move(end);
    write();
}

void TrialLog::write() {
    if (path_.empty()) return;
    std::error_code ignored;  // writing says what is wrong
    std::filesystem::create_directories(path_.parent_path(), ignored);
    auto const written = write_file_atomic(path_, protocol::encode(document_) + "\n", 0600);
    if (written.has_value()) return;
    fmt::print(stderr, "note: not kept for history: {}\n", written.error().message);
    path_.clear();
}

std::vector<db::InvestigatedItem> judged_settings(std::vector<plan::TuneVerdict> const& verdicts) {
    std::vector<db::InvestigatedItem> items;
    for (auto const& each : verdicts) {
        db::InvestigatedItem item{.item = each.key, .good = "", .bad = each.value};
        item.holds = each.kept;
        item.reason = each.failure.empty() ? each.decision.reason : each.failure;
        if (each.failure.empty()) {
            item.share = each.decision.gain;
            item.low = each.decision.low;
            item.high = each.decision.high;
        }
        items.push_back(std::move(item));
    }
    return items;
}

}  // namespace osora::cli
