// Blocks with a label of nine columns; terms are those of the run file.
#include "cli/plan/plan_text.hpp"

#include "base/host_list.hpp"
#include "base/text/text.hpp"
#include "base/text/units.hpp"
#include "cli/text/terminal.hpp"
#include "cli/text/text_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

namespace osora::cli {
namespace {

constexpr std::size_t kNcclShown = 3;

/// Items with " · " between them, wrapped between items.
std::string packed(std::vector<std::string> const& items) {
    std::vector<std::string> lines(1);
    for (std::string const& item : items) {
        std::string const joined = lines.back().empty() ? item : lines.back() + " · " + item;
        if (lines.back().empty() || kLabelColumns + display_width(joined) <= kColumns) {
            lines.back() = joined;
        } else {
            lines.push_back(item);
        }
    }
    std::string text;
    for (std::string const& line : lines) text += filled(line, kLabelColumns, kColumns);
    return text;
}

/// `body` (indented lines) with `label` in front of the first.
std::string labelled(std::string_view label, std::string const& body) {
    if (body.empty()) return {};
    return fmt::format("{:<{}}{}", label, kLabelColumns, body.substr(kLabelColumns));
}

std::string pipeline_name(plan::LayoutPlan const& layout) {
    if (layout.pp_schedule == plan::kEager1f1b) return fmt::format("pp {} eager", layout.pp_size);
    if (layout.virtual_stages == 1) return fmt::format("pp {}", layout.pp_size);
    return fmt::format("pp {} x {} virtual", layout.pp_size, layout.virtual_stages);
}

std::string sp_name(plan::LayoutPlan const& layout) {
    std::string const size = fmt::format("sp {}", layout.sp_size);
    return layout.sp_kind.empty() ? size : size + " " + layout.sp_kind;
}

std::string plan_body(plan::LayoutPlan const& chosen) {
    std::string body =
        chosen.buckets.empty()
            ? std::string()
            : packed({fmt::format("tp {}", chosen.tp_size), sp_name(chosen), pipeline_name(chosen),
                      fmt::format("dp {}", chosen.dp_size),
                      fmt::format("ZeRO-{}", chosen.zero_stage),
                      fmt::format("recompute {}", chosen.recompute), chosen.precision});
    if (chosen.offload_frozen) body += packed({"frozen blocks in host memory"});
    for (plan::BucketPlan const& bucket : chosen.buckets) {
        body += packed({fmt::format("{} x {}: micro-batch {}", bucket.resolution, bucket.num_frames,
                                    bucket.micro_batch_size),
                        fmt::format("accumulate {}", bucket.grad_accum_steps),
                        "global batch " + format_count(bucket.global_batch_size)});
    }
    std::vector<std::string> ranks{fmt::format("{} x {}", counted(chosen.ranks(), "rank"),
                                               counted(chosen.threads_per_rank, "thread"))};
    if (!chosen.buckets.empty()) {
        ranks.push_back(chosen.num_workers == 0 ? std::string("loader in the trainer's thread")
                                                : fmt::format("loader {}, prefetch {}",
                                                              counted(chosen.num_workers, "thread"),
                                                              chosen.prefetch_factor));
    }
    return body + packed(ranks);
}

std::string expect_body(plan::Prediction const& p, PlanHeader const& header) {
    bool const seconds = p.step_time_s >= 0.9995;
    double const scale = seconds ? 1 : 1e3;
    bool const timed = p.step_time_s > 0;
    std::string const wait =
        p.rank_wait_s > 0 ? ", slowest rank " + three_digits(scale * p.rank_wait_s) : "";
    std::string body =
        timed
            ? packed({fmt::format(
                  "{} {}/step ± {:.0f} % (compute {}, exposed comm {}, loader {}{})",
                  three_digits(scale * p.step_time_s), seconds ? "s" : "ms",
                  100 * p.step_time_error, three_digits(scale * p.compute_s),
                  three_digits(scale * p.exposed_comm_s), three_digits(scale * p.loader_s), wait)})
            : packed({"time not predicted"});
    std::string const peak =
        header.gpu_memory_gib > 0
            ? fmt::format("peak {} of {:.3g} GiB ({})", three_digits(p.peak_memory_gib),
                          header.gpu_memory_gib, p.peak_bucket)
            : fmt::format("peak {} GiB a rank ({})", three_digits(p.peak_memory_gib),
                          p.peak_bucket);
    std::string const host =
        header.host_memory_gib > 0
            ? fmt::format("host {} of {:.3g} GiB a node", three_digits(p.host_memory_gib),
                          header.host_memory_gib)
            : fmt::format("host {} GiB a node", three_digits(p.host_memory_gib));
    if (!timed) return body + packed({peak, host});
    return body + packed({peak, three_digits(p.samples_per_s) + " samples/s", host});
}

/// Of a score run.
std::string clips_body(plan::Prediction const& p) {
    std::vector<std::string> items{counted(p.clips, "clip")};
    if (p.total_s > 0) {
        items.push_back(fmt::format("{} clips/s", three_digits(p.samples_per_s)));
        items.push_back("about " + format_seconds(p.total_s));
    } else {
        items.emplace_back("time not predicted");
    }
    return packed(items);
}

std::string nccl_body(std::vector<plan::NcclSetting> settings, bool gpu) {
    std::vector<std::string> items;
    if (!gpu) {
        auto const unread = std::erase_if(
            settings, [](plan::NcclSetting const& each) { return each.name.starts_with("NCCL_"); });
        std::string const unused = unread == 0 ? "" : " (NCCL_* that are set do nothing)";
        items.push_back("not used: CPU ranks meet over Gloo" + unused);
    } else if (settings.empty()) {
        return packed({"nothing is set: NCCL decides for itself"});
    }
    std::size_t shown = 0;
    for (plan::NcclSetting const& setting : settings) {
        if (shown == kNcclShown && settings.size() > kNcclShown + 1) break;
        items.push_back(fmt::format("{}={} ({})", printable(setting.name), printable(setting.value),
                                    printable(setting.origin)));
        ++shown;
    }
    if (shown < settings.size()) {
        items.push_back(fmt::format("{} more: osora nccl env", settings.size() - shown));
    }
    return packed(items);
}

/// "tp 2: 0 1 | 2 3 | 2 more · inside a node"; of data parallelism alone nothing.
std::string groups_body(std::vector<plan::RankGroups> const& map) {
    constexpr int kGroupsShown = 2;
    constexpr std::size_t kRanksShown = 4;
    if (map.size() == 1 && map.front().name == "dp") return {};
    std::string body;
    for (plan::RankGroups const& kind : map) {
        std::string groups;
        for (int i = 0; i < std::min(kind.groups, kGroupsShown); ++i) {
            auto ranks = plan::ranks_of(kind, i);
            int const last = ranks.back();
            bool const shortened = ranks.size() > kRanksShown + 1;
            if (shortened) ranks.resize(kRanksShown - 1);
            groups += fmt::format("{}{}{}", i == 0 ? "" : " | ", fmt::join(ranks, " "),
                                  shortened ? fmt::format(" ... {}", last) : std::string());
        }
        if (kind.groups > kGroupsShown) {
            groups += fmt::format(" | {} more", kind.groups - kGroupsShown);
        }
        std::string where = "inside a node";
        if (kind.nodes > 1) {
            where = fmt::format("over {} nodes", kind.nodes);
            if (kind.at_once > 1) where += fmt::format(", {} share a node's links", kind.at_once);
        }
        body += packed({fmt::format("{} {}: {}", kind.name, kind.size, groups), where});
    }
    return body;
}

/// Empty if there is one batch only.
std::string batches_body(plan::PlanDecision const& decision) {
    auto const& curve = decision.batch_curve;
    if (curve.size() < 2 || decision.chosen.buckets.empty()) return {};
    int const planned = decision.chosen.buckets.front().global_batch_size;
    std::string body;
    for (plan::ExpectedBatch const& point : curve) {
        std::vector<std::string> items{
            fmt::format("{}: {:.1f} % exposed", format_count(point.global_batch_size),
                        100 * point.exposed_comm_share),
            three_digits(point.samples_per_s) + " samples/s",
            format_seconds(point.step_time_s) + " a step"};
        if (point.global_batch_size == planned) items.emplace_back("planned");
        body += packed(items);
    }
    return body + filled(
                      "without loaders; for a batch k times as large, Adam's learning rate is "
                      "often scaled by the square root of k (arXiv 2205.10287)",
                      kLabelColumns, kColumns);
}

std::string layout_name(plan::LayoutPlan const& layout) {
    return fmt::format("tp {} · {} · {} · dp {}", layout.tp_size, sp_name(layout),
                       pipeline_name(layout), layout.dp_size);
}

}  // namespace

std::string render_plan_header(PlanHeader const& header) {
    std::string const what = header.arch.empty() ? header.job : header.job + " " + header.arch;
    std::string const line =
        fmt::format("run {} · {} · {}", printable(header.run), what, header.machine);
    return filled(line, 0, kColumns) + "\n";
}

std::string render_plan(plan::PlanDecision const& decision, PlanHeader const& header) {
    std::string text = render_plan_header(header) + labelled("plan", plan_body(decision.chosen)) +
                       labelled("groups", groups_body(decision.rank_groups));
    if (decision.predicted.clips > 0) {
        text += labelled("expect", clips_body(decision.predicted));
    } else if (decision.predicted.step_time_s > 0) {
        text += labelled("expect", expect_body(decision.predicted, header));
    }
    for (plan::StagePlan const& stage : decision.stages) {
        text +=
            labelled("stage", packed({"from step " + format_count(stage.at_step)}) +
                                  plan_body(stage.chosen) + expect_body(stage.predicted, header));
    }
    std::string why;
    for (std::string const& reason : decision.reasons)
        why += filled(reason, kLabelColumns, kColumns);
    return text + labelled("why", why) + labelled("nccl", nccl_body(decision.nccl_env, header.gpu));
}

std::string render_explanation(plan::PlanDecision const& decision, int top) {
    std::string costs;
    for (plan::BucketPlan const& bucket : decision.chosen.buckets) {
        costs +=
            packed({fmt::format("{} x {} as {} x {} pixels", bucket.resolution, bucket.num_frames,
                                bucket.height, bucket.width),
                    bucket.gflop_per_sample > 0
                        ? fmt::format("{} GFLOP a sample", three_digits(bucket.gflop_per_sample))
                        : std::string("cost not counted"),
                    bucket.step_time_s > 0 ? format_seconds(bucket.step_time_s) + " a step"
                                           : std::string("time not predicted"),
                    three_digits(bucket.peak_memory_gib) + " GiB"});
    }
    std::string others;
    auto const shown = std::min<std::size_t>(decision.alternatives.size(),
                                             static_cast<std::size_t>(std::max(0, top)));
    for (std::size_t i = 0; i < shown; ++i) {
        plan::Alternative const& other = decision.alternatives[i];
        double const slower = decision.predicted.samples_per_s / other.predicted.samples_per_s - 1;
        bool const same = layout_name(other.layout) == layout_name(decision.chosen);
        others += packed({same ? counted(other.layout.threads_per_rank, "thread") + " a rank"
                               : layout_name(other.layout),
                          fmt::format("{} a step ({:+.0f} % a sample)",
                                      format_seconds(other.predicted.step_time_s), 100 * slower)});
    }
    std::string rejected;
    for (plan::Rejection const& each : decision.rejected) {
        bool const layout = each.layout.buckets.empty();
        rejected += filled(layout ? layout_name(each.layout) + ": " + each.reason : each.reason,
                           kLabelColumns, kColumns);
    }
    std::string nccl;
    for (plan::NcclSetting const& each : decision.nccl_env) {
        auto const nodes = each.nodes.empty() ? "" : " on " + fold_hosts(each.nodes);
        nccl += filled(fmt::format("{}={}{}: {}: {}", printable(each.name), printable(each.value),
                                   nodes, printable(each.origin), printable(each.reason)),
                       kLabelColumns, kColumns);
    }
    return labelled("buckets", costs) + labelled("batches", batches_body(decision)) +
           labelled("others", others) + labelled("rejected", rejected) + labelled("settings", nccl);
}

}  // namespace osora::cli
