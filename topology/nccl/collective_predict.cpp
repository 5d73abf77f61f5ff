#include "topology/nccl/collective_predict.hpp"

#include "base/text/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace osora::topology {
namespace {

/// Error of NCCL's model on the published sweeps: it is too fast (RFC 006).
double model_error(std::int64_t size_bytes) {
    if (size_bytes < kMiB) return 0.8;
    return size_bytes <= 256 * kMiB ? 0.6 : 0.15;
}

double distance(GroupShape const& a, GroupShape const& b) {
    double const nodes = std::abs(std::log2(static_cast<double>(a.nodes) / b.nodes));
    double const ranks = std::abs(std::log2(static_cast<double>(a.ranks) / b.ranks));
    bool const crosses = (a.nodes == 1) != (b.nodes == 1);
    return ranks + nodes + (crosses ? 100 : 0);
}

bool same_per_node(GroupShape const& a, GroupShape const& b) {
    return std::int64_t{a.ranks} * b.nodes == std::int64_t{b.ranks} * a.nodes;
}

struct Measured {
    GroupShape shape;
    CollectiveFit fit;
};

Result<std::vector<Measured>> fits_for(CollectiveQuestion const& question,
                                       std::span<SampleGroup const> groups) {
    std::vector<Measured> fits;
    for (SampleGroup const& group : groups) {
        if (group.collective != question.collective) continue;
        auto fit = fit_collective(group.shape, group.samples);
        if (fit.has_error() && fit.error().code == Errc::not_found) continue;  // one size only
        if (fit.has_error()) return std::move(fit).error().in(describe(group.shape));
        fits.push_back({group.shape, std::move(*fit)});
    }
    return fits;
}

CollectiveAnswer from_fit(Measured const& measured, CollectiveQuestion const& question) {
    CollectiveAnswer answer;
    answer.time_us = predict_us(measured.fit, question.size_bytes);
    answer.error = expected_error(measured.fit, question.size_bytes);
    answer.method = "fit";
    answer.details =
        fmt::format("{} sizes measured; {}", measured.fit.samples.size(), measured.fit.method);
    return answer;
}

/// The nearest fits below and above in ranks, with as many ranks per node, both on one node or both
/// on several.
std::optional<CollectiveAnswer> between_fits(std::vector<Measured> const& fits,
                                             CollectiveQuestion const& question) {
    Measured const* below = nullptr;
    Measured const* above = nullptr;
    for (Measured const& each : fits) {
        bool const one_node = each.shape.nodes == 1;
        bool const fits_in =
            one_node ? question.shape.nodes == 1
                     : question.shape.nodes > 1 && same_per_node(each.shape, question.shape);
        if (!fits_in) continue;
        int const ranks = each.shape.ranks;
        if (ranks < question.shape.ranks && (!below || ranks > below->shape.ranks)) below = &each;
        if (ranks > question.shape.ranks && (!above || ranks < above->shape.ranks)) above = &each;
    }
    if (below == nullptr || above == nullptr) return {};
    double const from = std::log(below->shape.ranks), to = std::log(above->shape.ranks);
    double const share = (std::log(question.shape.ranks) - from) / (to - from);
    double const low = predict_us(below->fit, question.size_bytes);
    double const high = predict_us(above->fit, question.size_bytes);
    CollectiveAnswer answer;
    answer.time_us = low * std::pow(high / low, share);
    // Only known for certain to be between the two.
    answer.error = expected_error(below->fit, question.size_bytes) +
                   std::abs(std::log(high / low)) * std::min(share, 1 - share);
    answer.method = "between fits";
    answer.details = fmt::format("between {} ({:.4g} us) and {} ({:.4g} us), along log ranks",
                                 describe(below->shape), low, describe(above->shape), high);
    return answer;
}

double model_us(NcclGroup const& group, PredictionSources const& sources,
                CollectiveQuestion const& question) {
    auto const ranking =
        nccl_ranking(group, sources.constants, question.collective, question.size_bytes);
    return ranking.empty() ? 0 : ranking.front().time_us;
}

/// The law's terms with the steps and bytes of the new ring; sqrt as their product.
double ring_ratio(Measured const& measured, CollectiveQuestion const& question) {
    auto const steps = [&](GroupShape const& s) {
        return static_cast<double>(ring_steps(question.collective, s.ranks));
    };
    double const latency = steps(question.shape) / steps(measured.shape);
    double const bytes = bus_factor(question.collective, question.shape.ranks) /
                         bus_factor(question.collective, measured.shape.ranks);
    CostLaw law = measured.fit.shape;
    double const before = law.time_us(static_cast<double>(question.size_bytes));
    law.a_us *= latency;
    law.b_us_per_byte *= bytes;
    law.c_us_per_sqrt_byte *= std::sqrt(latency * bytes);
    return law.time_us(static_cast<double>(question.size_bytes)) / before;
}

Result<CollectiveAnswer> carried(Measured const& nearest, CollectiveQuestion const& question,
                                 PredictionSources const& sources) {
    CollectiveAnswer answer = from_fit(nearest, question);
    auto const here = graphs_for(sources.graphs, question.shape);
    auto const there = graphs_for(sources.graphs, nearest.shape);
    double const to = here ? model_us(*here, sources, question) : 0;
    double const from = there ? model_us(*there, sources, question) : 0;
    if (to > 0 && from > 0) {
        answer.time_us *= to / from;
        answer.method = "fit x model";
        answer.details = fmt::format("measured for {}, times {:.3g}, the ratio of NCCL's model",
                                     describe(nearest.shape), to / from);
        answer.error = model_error(question.size_bytes);
        return answer;
    }
    if ((nearest.shape.nodes == 1) != (question.shape.nodes == 1)) {
        return Error{Errc::not_found,
                     fmt::format("{} measured only for {}; from there to {} needs --graphs",
                                 collective_name(question.collective), describe(nearest.shape),
                                 describe(question.shape))};
    }
    double const ratio = ring_ratio(nearest, question);
    answer.time_us *= ratio;
    answer.method = "fit x ring steps";
    answer.details = fmt::format("measured for {}, times {:.3g}, the ratio of a ring's steps",
                                 describe(nearest.shape), ratio);
    answer.error = std::min(1.0, answer.error + 0.1 * distance(nearest.shape, question.shape));
    return answer;
}

}  // namespace

std::optional<NcclGroup> graphs_for(std::span<NcclGroup const> graphs, GroupShape const& shape) {
    NcclGroup const* best = nullptr;
    for (NcclGroup const& each : graphs) {
        bool const same = each.shape == shape;
        bool const alike =
            each.shape.nodes > 1 && shape.nodes > 1 && same_per_node(each.shape, shape);
        if (!same && !alike) continue;
        if (best == nullptr || distance(each.shape, shape) < distance(best->shape, shape)) {
            best = &each;
        }
    }
    if (best == nullptr) return {};
    NcclGroup group = *best;
    group.shape = shape;
    return group;
}

Result<CollectiveAnswer> predict_collective(CollectiveQuestion const& question,
                                            PredictionSources const& sources) {
    OSORA_TRY_VOID(check_shape(question.shape));
    OSORA_TRY(auto const fits, fits_for(question, sources.samples));
    auto const graphs = graphs_for(sources.graphs, question.shape);
    std::string choice;
    if (graphs) {
        choice = explain(
            nccl_ranking(*graphs, sources.constants, question.collective, question.size_bytes));
    }
    auto const with_choice = [&](CollectiveAnswer answer) {
        answer.choice = choice;
        return answer;
    };
    auto const exact = std::ranges::find(fits, question.shape, &Measured::shape);
    if (exact != fits.end()) return with_choice(from_fit(*exact, question));
    if (auto const answer = between_fits(fits, question)) return with_choice(*answer);
    if (!fits.empty()) {
        auto const nearest = std::ranges::min_element(
            fits, {}, [&](Measured const& each) { return distance(each.shape, question.shape); });
        OSORA_TRY(auto answer, carried(*nearest, question, sources));
        return with_choice(std::move(answer));
    }
    double const time = graphs ? model_us(*graphs, sources, question) : 0;
    if (time <= 0) {
        return Error{Errc::not_found,
                     fmt::format("{} of {}: no samples of two sizes, and no graphs of such a group",
                                 collective_name(question.collective), describe(question.shape))};
    }
    return with_choice({.time_us = time,
                        .error = model_error(question.size_bytes),
                        .method = "model",
                        .details = "NCCL's own model, nothing measured: mostly too fast",
                        .choice = {}});
}

}  // namespace osora::topology
