#include "db/analysis/bottleneck.hpp"

#include "base/robust.hpp"
#include "base/text/units.hpp"
#include "db/analysis/measure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

namespace osora::db::analysis {
namespace {

constexpr double kComputeBound = 0.95;      // share of the step
constexpr double kGrowthHigh = 0.1;         // of memory
constexpr double kGrowthBytes = 256 << 20;  // less than this may be caches
constexpr std::size_t kGrowthSteps = 100;

struct Rated {
    double share = 0;
    Bottleneck found;
};

void add_straggler(Symptoms const& symptoms, std::vector<Rated>& rated) {
    bool const waits = symptoms.wait_share >= kBottleneckShare;
    if (!waits && !symptoms.straggler) return;
    Rated each{.share = waits ? symptoms.wait_share : symptoms.straggler->share, .found = {}};
    each.found.verdict = "straggler rank";
    each.found.evidence = waits ? fmt::format("ranks wait for a slower one {:.0f} % of the step",
                                              100 * symptoms.wait_share)
                                : "";
    if (auto const& slow = symptoms.straggler) {
        each.found.evidence += fmt::format(
            "{}rank {} arrives {} after the others, last in {} of {} steps", waits ? ": " : "",
            slow->rank, format_seconds(slow->late_s), slow->steps, slow->of_steps);
    }
    each.found.next = fmt::format("osora doctor --run {}", symptoms.number);
    rated.push_back(std::move(each));
}

/// Parts of the step: their shares can be compared.
std::vector<Rated> parts(Symptoms const& symptoms) {
    std::vector<Rated> rated;
    if (symptoms.data_share >= kBottleneckShare) {
        rated.push_back(
            {symptoms.data_share,
             {"input-bound",
              fmt::format("ranks wait for data {:.0f} % of the step", 100 * symptoms.data_share),
              "raise data.num_workers, or cache the clips (job = \"encode\")"}});
    }
    if (symptoms.comm_share >= kBottleneckShare) {
        rated.push_back({symptoms.comm_share,
                         {"communication-bound",
                          fmt::format("ranks only wait for collectives {:.0f} % of the step",
                                      100 * symptoms.comm_share),
                          "a larger batch.global_batch_size, or osora tune with --nccl"}});
    }
    add_straggler(symptoms, rated);
    std::ranges::stable_sort(rated, std::greater(), &Rated::share);
    return rated;
}

std::optional<Bottleneck> nothing_found(Symptoms const& symptoms) {
    double rest = 1;
    bool known = false;
    for (double const share : {symptoms.data_share, symptoms.comm_share, symptoms.wait_share}) {
        if (std::isnan(share)) continue;
        known = true;
        rest -= share;
    }
    if (!known) return {};
    auto const evidence =
        fmt::format("ranks work {:.0f} % of the step", 100 * std::clamp(rest, 0.0, 1.0));
    return Bottleneck{rest >= kComputeBound ? "compute-bound" : "fine", evidence, ""};
}

}  // namespace

std::vector<Bottleneck> bottlenecks(Symptoms const& symptoms) {
    std::vector<Bottleneck> found;
    if (symptoms.steps < kBottleneckSteps) return found;
    if (!symptoms.slower.empty()) {
        found.push_back({"regression", symptoms.slower,
                         fmt::format("osora report {} --format html: the step over which it "
                                     "became slower",
                                     symptoms.number)});
    }
    if (symptoms.memory_growth >= kGrowthHigh) {
        found.push_back(
            {"memory creep",
             fmt::format("memory of the largest rank grew by {:.0f} % during the run",
                         100 * symptoms.memory_growth),
             fmt::format("osora report {} --format html: memory over the steps", symptoms.number)});
    }
    for (auto& each : parts(symptoms)) found.push_back(std::move(each.found));
    if (!found.empty()) return found;
    if (auto const none = nothing_found(symptoms)) found.push_back(*none);
    return found;
}

double memory_growth(StepTable const& steps, std::vector<std::size_t> const& used) {
    auto const* column = steps.column("rss_bytes");
    if (column == nullptr || used.size() < kGrowthSteps) return std::nan("");
    auto const all = pick(column->max, used);
    auto const quarter = static_cast<std::ptrdiff_t>(all.size() / 4);
    double const early = median({all.begin() + quarter, all.begin() + 2 * quarter});
    double const late = median({all.end() - quarter, all.end()});
    if (!(early > 0) || !(late - early >= kGrowthBytes)) return std::nan("");
    return late / early - 1;
}

}  // namespace osora::db::analysis
