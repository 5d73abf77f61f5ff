#include "cli/trial/trial_log.hpp"

#include "base/env.hpp"
#include "base/files/files.hpp"
#include "base/files/own_folder.hpp"
#include "base/sha256.hpp"
#include "protocol/json.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <system_error>

namespace osora::cli {
namespace {

namespace fs = std::filesystem;

Result<std::vector<db::InvestigatedTrial>> read_trials(fs::path const& path,
                                                       db::Investigation const& what) {
    constexpr std::int64_t kBytesMax = 64 << 20;
    OSORA_TRY(auto const text, read_file(path, kBytesMax));
    auto kept = protocol::decode<db::Investigation>(text);
    if (kept.has_error()) {
        return Error{Errc::corrupt, fmt::format("{}; --anew measures again",
                                                kept.error().in(path.string()).message)};
    }
    bool const is_same = kept->version == what.version && kept->kind == what.kind &&
                         kept->series == what.series && kept->question == what.question;
    if (!is_same) {
        return Error{Errc::corrupt, fmt::format("{}: of another version or question; --anew "
                                                "measures again",
                                                path.string())};
    }
    return std::move(kept->trials);
}

std::string id_of(db::Investigation const& what, LogMode mode) {
    constexpr std::size_t kDigits = 6;
    auto text = protocol::encode(what);
    if (mode == LogMode::own) text += fmt::format(" {} {}", RealEnv().wall_us(), ::getpid());
    return sha256_hex(text).substr(0, kDigits);
}

}  // namespace

Result<TrialLog> TrialLog::open(fs::path const& folder, db::Investigation what, LogMode mode) {
    OSORA_TRY_VOID(make_own_folder(folder, Parents::believed));
    auto const id = id_of(what, mode);
    auto lock = FileLock::acquire(folder / (id + ".lock"));
    if (lock.has_error()) return std::move(lock).error().in("another osora asks the same");
    std::error_code error;
    TrialLog log(std::move(*lock), folder / (id + ".json"), std::move(what));
    log.id_ = id;
    if (mode == LogMode::resume && fs::exists(log.path_, error)) {
        OSORA_TRY(log.kept_.trials, read_trials(log.path_, log.kept_));
    }
    return log;
}

Result<void> TrialLog::add(db::InvestigatedTrial trial) {
    kept_.trials.push_back(std::move(trial));
    kept_.ended.reset();
    return write();
}

Result<void> TrialLog::end(db::InvestigationEnd end) {
    end.wall_us = RealEnv().wall_us();
    kept_.ended = std::move(end);
    return write();
}

Result<void> TrialLog::write() const {
    return write_file_atomic(path_, protocol::encode(kept_) + "\n", 0600);
}

fs::path TrialLog::run_file() const {
    return fs::path(path_).replace_extension(".toml");
}

db::InvestigatedTrial investigated(TrialEnd const& end, std::vector<std::string> changed) {
    db::InvestigatedTrial trial{.changed = std::move(changed), .run = end.run};
    trial.cost_gpu_s = end.wall_s * std::max(1, end.ranks);
    if (end.failure.empty()) {
        trial.value_s = end.step_s;
    } else {
        trial.status = end.exit_code == kExitUsage ? "cannot_start" : "aborted";
        trial.failure = end.failure;
    }
    return trial;
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
