// Progress and summary. Numbers that are not known yet are left out, never shown as 0.
#include "cli/run/follow/follow_text.hpp"

#include "base/text/text.hpp"
#include "base/text/units.hpp"
#include "cli/command/explanations.hpp"
#include "cli/run/stop_text.hpp"
#include "db/analysis/bottleneck.hpp"
#include "protocol/notice_kinds.hpp"

#include <fmt/format.h>

#include <cmath>

namespace osora::cli {
namespace {

using protocol::RunState;
using protocol::RunView;
using protocol::Verdict;

/// Joins fields while they fit: always the first, a later one only if all before it fit.
std::string fitted(std::vector<std::string> const& fields, std::string const& start, int columns) {
    std::string line = start;
    for (std::string const& field : fields) {
        if (field.empty()) continue;
        std::string const longer = line.size() == start.size() ? line + field : line + "  " + field;
        if (display_width(longer) > columns && line.size() > start.size()) break;
        line = longer;
    }
    return clipped(line, columns);
}

/// "6.4 %", "12 %", "0 %"
std::string percent(double share) {
    double const value = share * 100;
    if (value < 0.05) return "0 %";
    return value < 9.95 ? fmt::format("{:.1f} %", value) : fmt::format("{:.0f} %", value);
}

std::string share_text(std::string_view name, double share) {
    return std::isnan(share) ? "" : fmt::format("{} {}", name, percent(share));
}

bool has_steps(RunView const& view) {
    return !view.recent_steps.empty();
}

/// "1,234/5,000 clips"
std::string clips_text(RunView const& view) {
    std::string const of = view.clips > 0 ? "/" + format_count(view.clips) : "";
    return format_count(view.clips_done) + of + " clips";
}

std::string step_text(RunView const& view) {
    if (view.status.scoring) return clips_text(view);
    if (view.steps <= 0) return fmt::format("step {}", format_count(view.steps_done));
    return fmt::format("step {}/{}", format_count(view.steps_done), format_count(view.steps));
}

std::string loss_text(RunView const& view) {
    // inf and nan are news, too
    return view.has_loss ? fmt::format("loss {:.4g}", view.last_loss) : "";
}

std::string memory_text(RunView const& view, Expected const& expected) {
    if (view.peak_allocated_bytes > 0 && expected.gpu_memory_gib > 0) {
        double const used = static_cast<double>(view.peak_allocated_bytes) / kGiB;
        return fmt::format("mem {:.1f}/{:.0f} GiB", used, expected.gpu_memory_gib);
    }
    return view.rss_bytes > 0 ? "mem " + format_bytes(view.rss_bytes) : "";
}

/// "12 s", "4 min", "5 h", "2 d": one unit is enough for an age.
std::string age_text(double seconds) {
    auto const whole = static_cast<std::int64_t>(seconds);
    if (whole < 60) return fmt::format("{} s", whole);
    if (whole < 3600) return fmt::format("{} min", whole / 60);
    if (whole < 86400) return fmt::format("{} h", whole / 3600);
    return fmt::format("{} d", whole / 86400);
}

std::string checkpoint_text(RunView const& view, std::int64_t now_us) {
    if (view.status.checkpoint_step < 0) return "";
    std::string const name = "ckpt " + format_count(view.status.checkpoint_step);
    double const age_s = static_cast<double>(now_us - view.checkpoint_us) / 1e6;
    if (age_s < 0 || view.checkpoint_us == 0) return name;
    return fmt::format("{} ({} ago)", name, age_text(age_s));
}

/// What a run without steps is doing.
std::string waiting_text(RunView const& view) {
    int const ranks = view.nodes * view.ranks_per_node;
    switch (view.status.state) {
        case RunState::submitted:
        case RunState::checked:
            return "starting the controller";
        case RunState::allocating:
            return "waiting for the agent";
        case RunState::launching:
            return "starting " + counted(ranks, "rank");
        case RunState::running:
            return view.status.exec ? counted(ranks, "rank") + " running" : "first step";
        case RunState::relaunching:
            return view.status.asked_to_save
                       ? "stopping the ranks after this step, as asked"
                       : fmt::format("stopping the ranks of attempt {}", view.status.attempt);
        case RunState::finishing:
            return view.status.verdict == Verdict::ok ? "finishing" : "stopping";
        case RunState::done:
            break;
    }
    return "done";
}

std::string rate_text(RunView const& view) {
    if (view.status.scoring) return "";  // its steps are seconds
    return view.step_time_s > 0 ? format_seconds(view.step_time_s) + "/step" : "";
}

std::string samples_text(RunView const& view) {
    return view.samples_per_s > 0 ? fmt::format("{:.3g} {}/s", view.samples_per_s,
                                                view.status.scoring ? "clips" : "samples")
                                  : "";
}

/// "38 s", "4m 10s", "3h 05m", "5d 19h", in whole seconds.
std::string eta_text(RunView const& view) {
    if (view.eta_s <= 0 || !(view.eta_s < 1e9)) return "";
    auto const whole = static_cast<std::int64_t>(std::ceil(view.eta_s));
    if (whole < 100) return fmt::format("ETA {} s", whole);
    if (whole < 3600) return fmt::format("ETA {}m {:02}s", whole / 60, whole % 60);
    if (whole < 86400) return fmt::format("ETA {}h {:02}m", whole / 3600, whole % 3600 / 60);
    return fmt::format("ETA {}d {}h", whole / 86400, whole % 86400 / 3600);
}

std::string verdict_word(RunView const& view) {
    switch (view.status.verdict) {
        case Verdict::ok:
            return "done";
        case Verdict::cancelled:
        case Verdict::preempted:
            return "stopped";
        default:
            return "failed";
    }
}

/// "200 of 200 steps in 41.2 s", "no step done".
std::string steps_text(RunView const& view) {
    if (view.status.exec) {
        return view.steps_done > 0 && has_steps(view) ? counted(view.steps_done, "step") : "";
    }
    if (view.status.scoring) return has_steps(view) ? clips_text(view) : "before the first clip";
    if (view.steps_done == 0) return "before the first step";
    return view.steps_done == view.steps || view.status.encoding
               ? counted(view.steps_done, "step")
               : fmt::format("step {} of {}", format_count(view.steps_done),
                             format_count(view.steps));
}

std::string joined(std::vector<std::string> const& parts) {
    std::string text;
    for (std::string const& part : parts) {
        if (!part.empty()) text += (text.empty() ? "" : " · ") + part;
    }
    return text;
}

std::string kept_checkpoint(RunView const& view) {
    if (!saves_checkpoints(view.status)) return "";
    if (view.status.checkpoint_step < 0) return "no checkpoint";
    return "checkpoint " + format_count(view.status.checkpoint_step) + " kept";
}

}  // namespace

Expected expected_of(protocol::json::value const& plan) {
    Expected expected;
    auto const* object = plan.if_object();
    auto const* predicted = object != nullptr ? object->if_contains("predicted") : nullptr;
    if (predicted == nullptr || !predicted->is_object()) return expected;
    auto const* time = predicted->get_object().if_contains("step_time_s");
    if (time != nullptr && time->is_number()) expected.step_time_s = time->to_number<double>();
    return expected;
}

std::vector<std::string> progress_lines(RunView const& view, Expected const& expected,
                                        std::int64_t now_us, int columns) {
    if (!has_steps(view) || view.status.state == RunState::finishing) {
        double const since_s = static_cast<double>(now_us - view.began_us) / 1e6;
        std::string text = waiting_text(view);
        if (has_steps(view)) text = step_text(view) + "  " + text;
        if (view.began_us > 0 && since_s >= 1) {
            text += fmt::format("  ({})", format_seconds(std::floor(since_s)));
        }
        return {clipped(text, columns)};
    }
    std::string expectation;
    if (expected.step_time_s > 0) {
        expectation = fmt::format("(expected {})", format_seconds(expected.step_time_s));
    }
    std::string const rate =
        expectation.empty() ? rate_text(view) : rate_text(view) + " " + expectation;
    return {fitted({step_text(view), loss_text(view), rate, samples_text(view)}, "", columns),
            fitted({eta_text(view), memory_text(view, expected),
                    share_text("data wait", view.data_wait_share),
                    share_text("comm", view.exposed_comm_share), checkpoint_text(view, now_us)},
                   "  ", columns)};
}

std::string progress_line(RunView const& view, Expected const& expected) {
    return fitted({step_text(view), loss_text(view), rate_text(view), samples_text(view),
                   eta_text(view), memory_text(view, expected)},
                  "", 1000);
}

namespace {

/// What limited the newest steps. The report of the run says it of all of them.
std::string bottleneck_lines(RunView const& view) {
    db::analysis::Symptoms symptoms{
        .number = view.number,
        .steps = static_cast<int>(view.recent_steps.size()),
        .data_share = view.data_wait_share,
        .comm_share =
            view.exposed_comm_share - (std::isnan(view.rank_wait_share) ? 0 : view.rank_wait_share),
        .wait_share = view.rank_wait_share,
        .straggler = view.straggler};
    for (auto const& notice : view.notices) {
        if (notice.kind == protocol::kThroughputSag) symptoms.slower = notice.detail;
        if (notice.kind == protocol::kThroughputBack) symptoms.slower.clear();
    }
    std::string text;
    for (auto const& each : db::analysis::bottlenecks(symptoms)) {
        text += fmt::format("{:<8} {}: {}\n", text.empty() ? "verdict" : "", each.verdict,
                            printable(each.evidence));
        if (!each.next.empty()) text += fmt::format("{:<8} next: {}\n", "", each.next);
    }
    return text;
}

}  // namespace

std::string summary(RunView const& view, Expected const& expected) {
    double const took_s = static_cast<double>(view.ended_us - view.began_us) / 1e6;
    bool const trained = has_steps(view);
    std::string const rate =
        !trained ? ""
        : expected.step_time_s > 0
            ? fmt::format("{} (expected {})", rate_text(view), format_seconds(expected.step_time_s))
            : rate_text(view);
    std::string const word = verdict_word(view);
    std::string first;
    std::string second;
    if (word == "done") {
        std::string const steps = steps_text(view);
        // With the pauses between controllers, which may be days.
        std::string const since = view.status.incarnations > 1 ? " since its first start" : "";
        first = joined({(steps.empty() ? "in " : steps + " in ") +
                            format_seconds(std::max(took_s, 0.0)) + since,
                        trained ? loss_text(view) : "", rate});
        second = joined({kept_checkpoint(view), fmt::format("next: osora report {}", view.number)});
    } else {
        first = joined({printable(view.status.cause), steps_text(view)});
        second = joined({kept_checkpoint(view), resume_hint(view.status, view.number),
                         word == "failed" ? fmt::format("osora logs {}", view.number) : "",
                         fmt::format("osora report {}", view.number)});
    }
    std::string const id(explanation_of(view));
    std::string const third = word == "failed" && !id.empty()
                                  ? fmt::format("{:<8} osora explain {}\n", "", id)
                              : word == "done" ? bottleneck_lines(view)
                                               : "";
    return fmt::format("{:<8} {}\n{:<8} {}\n{}", word, first, "", second, third);
}

}  // namespace osora::cli
