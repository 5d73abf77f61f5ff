// Enumerates the cuts, plans each, compares samples per second.
#include "plan/layout/cut_search.hpp"

#include "plan/model/model_cost.hpp"
#include "plan/model/trained_model.hpp"
#include "plan/plan_context.hpp"
#include "plan/validate.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace osora::plan {
namespace {

/// Two cuts are predicted by the same rates, so most errors of the predictions cancel.
constexpr double kShareOfError = 1.0 / 3;

struct PlannedCut {
    Layout sizes;
    PlanDecision decision;
    [[nodiscard]] double rate() const { return decision.predicted.samples_per_s; }
};
struct PlannedCuts {
    std::vector<PlannedCut> fitting;  // the one that shares least first
    std::vector<IllegalCut> refused;
    std::size_t best = 0;  // of `fitting`
    [[nodiscard]] PlannedCut const& chosen() const { return fitting[best]; }
};

int ranks_of(RunConfig const& config) {
    return config.resources.nodes * config.resources.gpus_per_node;
}

std::vector<int> divisors_of(int total) {
    std::vector<int> found;
    for (int each = 1; each <= total; ++each) {
        if (total % each == 0) found.push_back(each);
    }
    return found;
}

int together(Layout const& sizes) {
    return sizes.tp_size * sizes.sp_size * sizes.pp_size;
}

/// "tp 2, sp 4"; "dp only".
std::string name_of(Layout const& sizes) {
    std::vector<std::string> parts;
    for (auto const& [name, size] :
         {std::pair("tp", sizes.tp_size), {"sp", sizes.sp_size}, {"pp", sizes.pp_size}}) {
        if (size > 1) parts.push_back(fmt::format("{} {}", name, size));
    }
    return parts.empty() ? "dp only" : fmt::format("{}", fmt::join(parts, ", "));
}

/// Jobs that can be divided, on more than one rank, whose compute times are not given.
bool is_open(PlanRequest const& request) {
    auto const& parallel = request.config.parallel;
    bool const any =
        parallel.tp_size.is_auto() || parallel.sp_size.is_auto() || parallel.pp_size.is_auto();
    return any && runs_network(request.config) && ranks_of(request.config) > 1 &&
           request.compute_times.empty() && !request.cut;
}

/// Sizes of the run file; sizes that it leaves open as fixed earlier, else 1.
Layout given_cut(PlanRequest const& request) {
    auto const& parallel = request.config.parallel;
    Layout const settled = request.cut.value_or(Layout{});
    return {.tp_size = std::max(1, parallel.tp_size.value_or(settled.tp_size)),
            .pp_size = std::max(1, parallel.pp_size.value_or(settled.pp_size)),
            .sp_size = std::max(1, parallel.sp_size.value_or(settled.sp_size)),
            .virtual_stages = parallel.virtual_stages};
}

PlanRequest with_cut(PlanRequest request, Layout const& sizes) {
    request.config.parallel.tp_size.value = sizes.tp_size;
    request.config.parallel.sp_size.value = sizes.sp_size;
    request.config.parallel.pp_size.value = sizes.pp_size;
    return request;
}

std::vector<Layout> enumerate(PlanRequest const& request) {
    auto const& parallel = request.config.parallel;
    int const ranks = ranks_of(request.config), node = request.config.resources.gpus_per_node;
    auto const sizes = [](AutoOr<int> const& given, int whole) {
        return given.is_auto() ? divisors_of(whole) : std::vector{std::max(1, *given.value)};
    };
    std::vector<Layout> all;
    for (int const tp : sizes(parallel.tp_size, node)) {
        for (int const sp : sizes(parallel.sp_size, node)) {
            bool const given = !parallel.tp_size.is_auto() && !parallel.sp_size.is_auto();
            if (!given && node % (tp * sp) != 0) continue;
            for (int const pp : sizes(parallel.pp_size, ranks)) {
                if (ranks % (tp * sp * pp) != 0) continue;
                all.push_back({.tp_size = tp,
                               .pp_size = pp,
                               .sp_size = sp,
                               .dp_size = ranks / (tp * sp * pp),
                               .virtual_stages = parallel.virtual_stages});
            }
        }
    }
    std::ranges::stable_sort(all, {}, together);
    return all;
}

/// The first that no other beats by more than the error of predictions.
std::size_t index_of_best(std::vector<PlannedCut> const& fitting) {
    std::size_t best = 0;
    double const margin = 1 + kShareOfError * fitting.front().decision.predicted.step_time_error;
    for (std::size_t i = 1; i < fitting.size(); ++i) {
        if (fitting[i].rate() > margin * fitting[best].rate()) best = i;
    }
    return best;
}

/// About sizes that the run file sets; empty: none above 1.
std::string yours(Layout const& given, Layout const& chosen) {
    if (together(given) == 1) return "";
    if (same_cut(given, chosen)) return "set by you; ";
    return name_of(given) + (name_of(given).find(',') == std::string::npos ? " is" : " are") +
           " set by you; ";
}

/// What the ranks of a fully given cut share.
std::string shared_by(Layout const& sizes) {
    std::vector<std::string> what;
    if (sizes.tp_size > 1) what.emplace_back("layers");
    if (sizes.sp_size > 1) what.emplace_back("tokens");
    if (sizes.pp_size > 1) what.emplace_back("blocks");
    return fmt::format("{} ranks train on the same samples and share their {}", together(sizes),
                       fmt::join(what, " and "));
}

bool something_smaller_does_not_fit(PlannedCuts const& planned) {
    return std::ranges::any_of(planned.refused, [&](IllegalCut const& each) {
        return each.code == Errc::out_of_memory &&
               together(each.sizes) < together(planned.chosen().sizes);
    });
}

/// The chosen cut compared with the others that fit.
std::string comparison(PlannedCuts const& planned) {
    PlannedCut const& chosen = planned.chosen();
    if (planned.best > 0) {
        PlannedCut const& plain = planned.fitting.front();
        return fmt::format("{:.0f} % more samples a second than {}",
                           100 * (chosen.rate() / plain.rate() - 1), name_of(plain.sizes));
    }
    if (something_smaller_does_not_fit(planned)) return "what shares less does not fit";
    if (planned.fitting.size() == 1) return "no other cut can be planned here";
    auto const next = std::ranges::max_element(planned.fitting.begin() + 1, planned.fitting.end(),
                                               {}, &PlannedCut::rate);
    double const more = 100 * (next->rate() / chosen.rate() - 1);
    if (more <= 0) {
        return fmt::format("{}, the next best, would train {:.0f} % fewer samples a second",
                           name_of(next->sizes), -more);
    }
    return fmt::format("{} would gain {:.0f} %, less than predictions err", name_of(next->sizes),
                       more);
}

std::string reason_of(PlanRequest const& request, PlannedCuts const& planned) {
    if (ranks_of(request.config) == 1) return "one rank: there is nothing to divide";
    Layout const& sizes = planned.chosen().sizes;
    std::string name = name_of(sizes);
    if (request.cut) return name + ": one cut for all stages of the run";
    if (sizes.virtual_stages > 1) name += fmt::format(", virtual stages {}", sizes.virtual_stages);
    Layout const given = given_cut(request);
    if (is_open(request)) return name + ": " + yours(given, sizes) + comparison(planned);
    if (together(sizes) == 1) return "dp only: nothing else is asked for";
    return name + ": set by you; " + shared_by(sizes);
}

Rejection reject(LayoutPlan layout, Layout const& sizes, std::string reason) {
    layout.tp_size = sizes.tp_size;
    layout.pp_size = sizes.pp_size;
    layout.sp_size = sizes.sp_size;
    layout.sp_kind.clear();
    layout.dp_size = sizes.dp_size;
    layout.buckets.clear();
    return {std::move(layout), std::move(reason)};
}

/// Why a cut by `key` alone was not planned; empty: it was.
std::string why_not_looked_at(PlanRequest const& request, Layout const& sizes) {
    auto const& parallel = request.config.parallel;
    auto const set_otherwise = [](AutoOr<int> const& asked, int size) {
        return !asked.is_auto() && *asked.value != size;
    };
    if (set_otherwise(parallel.tp_size, sizes.tp_size)) return "parallel.tp_size is set by you";
    if (set_otherwise(parallel.sp_size, sizes.sp_size)) return "parallel.sp_size is set by you";
    if (sizes.pp_size > 1) {
        return parallel.pp_size.is_auto() ? "" : "not looked for: parallel.pp_size = \"auto\" does";
    }
    char const* const key = sizes.tp_size > 1 ? "tp_size" : "sp_size";
    return fmt::format("beyond a node, whose links are faster: parallel.{} = {} asks for it", key,
                       std::max(sizes.tp_size, sizes.sp_size));
}

/// The three ways to cut by one size that were not planned, for each divisor of the ranks, and
/// those that were refused.
Result<std::vector<Rejection>> rejected_cuts(PlanRequest const& request,
                                             PlannedCuts const& planned) {
    LayoutPlan const& chosen = planned.chosen().decision.chosen;
    std::vector<Rejection> rejected;
    for (IllegalCut const& each : planned.refused) {
        rejected.push_back(reject(chosen, each.sizes, each.reason));
    }
    auto const context = plan_context(request);
    if (context.has_error()) return context.error();
    std::vector<std::int64_t> tokens;
    for (SampleCost const& cost : context->costs) tokens.push_back(cost.tokens_per_frame);
    CutLimits const limits = cut_limits(context->shape, tokens);
    auto const known = [&](Layout const& sizes) {
        auto const is = [&](auto const& each) { return same_cut(each.sizes, sizes); };
        return std::ranges::any_of(planned.fitting, is) || std::ranges::any_of(planned.refused, is);
    };
    for (int const cut : divisors_of(context->ranks)) {
        if (cut == 1) continue;
        int const dp = context->ranks / cut;
        for (Layout const& sizes :
             {Layout{.tp_size = cut, .dp_size = dp}, Layout{.pp_size = cut, .dp_size = dp},
              Layout{.sp_size = cut, .dp_size = dp}}) {
            if (known(sizes)) continue;
            Layout cut_so = sizes;
            cut_so.sp_kind = sp_kind_of(request.config.parallel.sp_kind.value_or("auto"),
                                        limits.heads, sizes.tp_size, sizes.sp_size);
            auto const broken = layout_violations(cut_so, limits, context->ranks);
            rejected.push_back(reject(
                chosen, sizes,
                broken.empty() ? why_not_looked_at(request, sizes) : broken.front().message()));
        }
    }
    return rejected;
}

}  // namespace

CutChoices cut_choices(PlanRequest const& request) {
    CutChoices choices;
    auto const all = is_open(request) ? enumerate(request) : std::vector{given_cut(request)};
    for (Layout const& sizes : all) {
        auto const broken = config_violations(with_cut(request, sizes).config, request.cluster);
        if (broken.empty()) {
            choices.legal.push_back(sizes);
        } else {
            ConfigViolation const& first = broken.front();
            choices.illegal.push_back({sizes, first.key + ": " + first.message, first.code});
        }
    }
    return choices;
}

Result<PlanDecision> best_cut(
    PlanRequest const& request,
    std::function<Result<PlanDecision>(PlanRequest const&)> const& plan_of) {
    auto choices = cut_choices(request);
    PlannedCuts planned;
    planned.refused = std::move(choices.illegal);
    if (choices.legal.empty()) {
        return Error{planned.refused.front().code, planned.refused.front().reason};
    }
    std::optional<Error> error;
    PlanRequest asked = request;
    for (Layout const& sizes : choices.legal) {
        auto decision = plan_of(with_cut(asked, sizes));
        if (decision) {
            // Larger batches hide more communication: only equal batches can be compared.
            if (!asked.global_batch_size && !decision->chosen.buckets.empty())
                asked.global_batch_size = decision->chosen.buckets.front().global_batch_size;
            planned.fitting.push_back({sizes, std::move(*decision)});
        } else {
            bool const one = choices.legal.size() == 1;
            error = one ? decision.error() : Error(decision.error()).in(name_of(sizes));
            planned.refused.push_back({sizes, decision.error().message, decision.error().code});
        }
    }
    if (planned.fitting.empty()) return *error;
    planned.best = index_of_best(planned.fitting);
    PlanDecision decision = planned.chosen().decision;
    decision.reasons.insert(decision.reasons.begin(), reason_of(request, planned));
    if (ranks_of(request.config) > 1) {
        OSORA_TRY(auto rejected, rejected_cuts(request, planned));
        decision.rejected.insert(decision.rejected.begin(), rejected.begin(), rejected.end());
    }
    for (std::size_t i = 0; i < planned.fitting.size(); ++i) {
        if (i == planned.best) continue;
        PlanDecision const& other = planned.fitting[i].decision;
        decision.alternatives.push_back({other.chosen, other.predicted});
    }
    std::ranges::stable_sort(decision.alternatives, std::ranges::greater{},
                             [](Alternative const& each) { return each.predicted.samples_per_s; });
    return decision;
}

}  // namespace osora::plan
