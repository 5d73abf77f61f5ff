// After one step from zero, AdamW's first moment is (1 - beta1) times the gradient, whole or in
// the parts in which ZeRO, tensor and pipeline parallelism leave it.
#include "worker/jobs/self_check.hpp"

#include "plan/activation_choice.hpp"
#include "plan/model/model_sizes.hpp"
#include "worker/model/seeded_generator.hpp"
#include "worker/parallel/flight/flight_recorder.hpp"
#include "worker/train/trainable.hpp"
#include "worker/train/trainer.hpp"

#include <ATen/Context.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>
#include <fmt/format.h>
#include <torch/csrc/distributed/c10d/Backend.hpp>

#include <algorithm>
#include <cmath>
#include <exception>
#include <limits>
#include <map>
#include <utility>

namespace osora::worker {
namespace {

constexpr std::uint64_t kSeed = 20;
/// Noise on the initial weights: those that begin as zeros would hide gradients.
constexpr double kWeightNoise = 0.02;
/// Of the norm of all gradients; smaller tensors are measured against this share.
constexpr double kLeastShare = 1e-3;
constexpr int kFrames = 3, kRows = 2, kTextTokens = 7;

/// Enough blocks for two on each run of a pipeline's stage, no more than the model has.
void reduce_depth(plan::ModelSection& model, plan::ModelShape const& shape, int runs) {
    bool const mmdit = shape.family == plan::ModelFamily::mmdit;
    // STDiT counts pairs of blocks, MMDiT has two kinds.
    model.depth = std::min(shape.depth, std::max(2, runs));
    if (mmdit) model.single_depth = std::min(shape.single_depth, std::max(2, runs));
}

/// Only what exists in a network with fewer blocks.
std::vector<std::string> known_prefixes(std::vector<std::string> const& prefixes,
                                        Parameters const& parameters) {
    std::vector<std::string> known;
    for (std::string const& prefix : prefixes) {
        auto const matches = [&](NamedTensor const& each) { return each.name.starts_with(prefix); };
        if (std::ranges::any_of(parameters.all(), matches)) known.push_back(prefix);
    }
    return known;
}

/// The run's job with few blocks, in fp32, without what makes steps inexact or changes gradients
/// after they are summed.
plan::WorkerJob reduced(plan::WorkerJob job, plan::ModelShape const& shape) {
    auto& chosen = job.plan.chosen;
    reduce_depth(job.config.model, shape, chosen.pp_size * chosen.virtual_stages);
    chosen.run_ends.clear();  // of all blocks
    job.config.model.init.clear();
    job.config.text.embeddings.clear();
    job.config.optim.grad_clip = AutoOr<double>{0.0};
    job.config.optim.ema_decay = 0;
    chosen.precision = job.config.optim.precision = "fp32";
    chosen.reduce_dtype.clear();
    if (plan::is_lossy(chosen.activation_store, chosen.precision)) chosen.activation_store = "none";
    return job;
}

plan::WorkerJob on_one_rank(plan::WorkerJob job) {
    plan::LayoutPlan one;
    one.grad_bucket_mib = job.plan.chosen.grad_bucket_mib;
    one.threads_per_rank = job.plan.chosen.threads_per_rank;
    job.plan.chosen = std::move(one);
    return job;
}

/// The same on every rank, whatever part of a tensor it has.
void add_noise(Parameters const& parameters) {
    at::NoGradGuard const no_grad;
    for (NamedTensor const& each : parameters.all()) {
        if (each.kind != TensorKind::trainable || !parameters.is_here(each)) continue;
        at::Tensor const noise = at::empty(parameters.whole_sizes(each), at::kFloat);
        noise.normal_(0, kWeightNoise, generator_for(kSeed, each.name));
        auto const* const slice = parameters.slice_of(each);
        at::Tensor const own = slice == nullptr ? noise : slice->of(noise);
        each.tensor.add_(own.to(each.tensor.device()));
    }
}

struct Samples {
    int first = 0, count = 0, total = 0;
};

/// Numbers that do not divide by the ranks: tokens of an image, of text.
StepInput input_of(plan::ModelShape const& shape, plan::LayoutPlan const& layout,
                   Samples const& of) {
    auto const drawn = [&](char const* name, std::vector<std::int64_t> const& sizes) {
        return at::randn(sizes, generator_for(kSeed, name), at::kFloat)
            .narrow(0, of.first, of.count)
            .contiguous();
    };
    std::int64_t const columns = std::max(2, layout.sp_size) + 1;
    std::int64_t const height = kRows * shape.patch_size[1], width = columns * shape.patch_size[2];
    std::int64_t const text = std::min(shape.text_tokens, kTextTokens * layout.sp_size);
    StepInput input;
    input.latents = drawn("latents", {of.total, shape.in_channels, kFrames, height, width});
    input.text = drawn("text", {of.total, text, shape.caption_channels});
    input.text_mask = at::ones({of.count, text}, at::kLong);
    input.text_mask.narrow(1, text - 1, 1).zero_();
    if (shape.pooled_channels > 0)
        input.pooled = drawn("pooled", {of.total, shape.pooled_channels});
    input.samples = of.count;
    input.global_samples = of.total;
    input.frames = kFrames * std::max(1, shape.vae.temporal);
    input.height = height * std::max(1, shape.vae.spatial);
    input.width = width * std::max(1, shape.vae.spatial);
    for (int i = of.first; i < of.first + of.count; ++i)
        input.identities.push_back({.id = static_cast<std::uint64_t>(i), .epoch = 0, .fps = 24});
    return input;
}

struct StepResult {
    double loss = 0;                     // mean over all samples
    std::vector<TensorParts> gradients;  // times 1 - beta1; zeros if one is not finite
};

Result<StepResult> step_of(plan::WorkerJob job, RankGroups const& groups, Device const& device,
                           MakeObjective const& make, StepInput const& input) {
    OSORA_TRY(auto objective, make(job, groups));
    auto& parameters = objective->parameters();
    auto& optim = job.config.optim;
    optim.freeze = known_prefixes(optim.freeze, parameters);
    OSORA_TRY_VOID(choose_trainable(parameters, optim, kSeed));
    parameters.allocate_all();
    add_noise(parameters);
    Trainer trainer(job, std::move(objective), groups, device);
    OSORA_TRY(auto const output, trainer.step(input));
    StepResult result{output.loss, trainer.held_parts().exp_avg};
    for (TensorParts& each : result.gradients)
        for (auto& part : each.parts) part.values = part.values.detach().to(at::kCPU).clone();
    return result;
}

double squared(at::Tensor const& values) {
    double const norm = values.norm(2, at::kDouble).item<double>();
    return norm * norm;
}

double finite_or_infinite(double value) {
    return std::isfinite(value) ? value : std::numeric_limits<double>::infinity();
}

std::string layout_text(plan::LayoutPlan const& layout, plan::ModelSection const& model) {
    std::string text;
    for (auto const& [name, size] : {std::pair{"tp", layout.tp_size},
                                     {"sp", layout.sp_size},
                                     {"pp", layout.pp_size},
                                     {"dp", layout.dp_size}})
        if (size > 1) text += fmt::format("{} {}, ", name, size);
    text += fmt::format("ZeRO {}, recompute {}; depth {}", layout.zero_stage, layout.recompute,
                        model.depth);
    if (model.single_depth > 0) text += fmt::format(" + {}", model.single_depth);
    return text + ", fp32";
}

/// What each rank found: a row a rank.
struct Row {
    double loss = 0, expected_loss = 0, gradient = 0, tensor = 0;
};

/// unreachable: a peer is gone.
Result<std::vector<Row>> shared_rows(std::optional<Group> const& group, Row const& own) {
    if (!group || group->world_size() == 1) return std::vector{own};
    std::vector<Row> rows;
    FlightRecorder::Label const label("self-check");
    try {
        std::vector<at::Tensor> all{at::zeros({group->world_size(), 4}, at::kDouble)};
        auto* const mine = all[0].mutable_data_ptr<double>() + std::ptrdiff_t{4} * group->rank();
        mine[0] = own.loss;
        mine[1] = own.expected_loss;
        mine[2] = own.gradient;
        mine[3] = own.tensor;
        group->backend().allreduce(all)->wait();
        auto const* row = all[0].const_data_ptr<double>();
        for (int i = 0; i < group->world_size(); ++i, row += 4)
            rows.push_back({row[0], row[1], row[2], row[3]});
    } catch (std::exception const& error) {
        return Error{Errc::unreachable, std::string("self-check: ") + error.what()};
    }
    return rows;
}

}  // namespace

GradientDifference gradient_difference(std::vector<TensorParts> const& own,
                                       std::vector<TensorParts> const& expected) {
    std::vector<at::Tensor> whole;
    std::vector<double> norms;
    double sum = 0;
    for (TensorParts const& each : expected) {
        std::int64_t items = 1;
        for (auto const size : each.shape) items *= size;
        at::Tensor const values = at::zeros({items});
        for (auto const& part : each.parts)
            values.narrow(0, part.first, part.values.numel()).copy_(part.values.reshape(-1));
        double const square = squared(values);
        sum += square;
        whole.push_back(values);
        norms.push_back(std::sqrt(square));
    }
    GradientDifference worst;
    for (std::size_t i = 0; i < own.size(); ++i) {
        double square = 0;
        for (auto part : own[i].parts) {
            at::Tensor const found = part.values;
            part.values = at::empty_like(found);
            part.take(whole.at(i));
            square += squared(found - part.values);
        }
        if (own[i].parts.empty()) continue;
        double const least = std::max(norms[i], kLeastShare * std::sqrt(sum));
        double const relative = finite_or_infinite(square == 0 ? 0 : std::sqrt(square) / least);
        if (relative > worst.relative) worst = {relative, i};
    }
    return worst;
}

std::string SelfCheck::text() const {
    if (passed()) {
        return fmt::format(
            "{}: one step equals that of one rank (loss within {:.1e}, gradients within {:.1e}{})",
            layout, loss, gradient, tensor.empty() ? "" : ", most in " + tensor);
    }
    std::string differs;
    if (gradient > kSelfCheckLimit) {
        differs = fmt::format("the gradient of {} on rank {} differs by {:.2g} of its norm", tensor,
                              rank, gradient);
    }
    if (loss > kSelfCheckLimit) {
        differs += fmt::format("{}the loss differs by {:.2g}", differs.empty() ? "" : ", ", loss);
    }
    return fmt::format("train.self_check: {}: one step is not that of one rank: {} (limit {:g})",
                       layout, differs, kSelfCheckLimit);
}

Result<SelfCheck> self_check(plan::WorkerJob const& job, TrainRanks const& ranks,
                             Device const& device, MakeObjective const& make) {
    OSORA_TRY(auto const shape, plan::model_shape(job.config.model));
    bool const tf32 = at::globalContext().allowTF32CuDNN();
    at::globalContext().setAllowTF32CuDNN(false);
    auto const small = reduced(job, shape);
    auto const& layout = small.plan.chosen;
    int const count = std::max(2, layout.pp_size), total = count * layout.dp_size;
    auto const own_input = input_of(shape, layout, {ranks.dp_rank * count, count, total});
    auto const own = step_of(small, ranks, device, make, own_input);
    OSORA_TRY(auto const found, own);
    auto const all_input = input_of(shape, layout, {0, total, total});
    auto const one = step_of(on_one_rank(small), {}, device, make, all_input);
    at::globalContext().setAllowTF32CuDNN(tf32);
    OSORA_TRY(auto const expected, one);

    auto const difference = gradient_difference(found.gradients, expected.gradients);
    OSORA_TRY(auto const rows,
              shared_rows(ranks.all, {found.loss, expected.loss, difference.relative,
                                      static_cast<double>(difference.tensor)}));
    SelfCheck check;
    check.layout = layout_text(layout, small.config.model);
    double loss = 0;
    for (Row const& row : rows) loss += row.loss / static_cast<double>(rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
        double const expected_loss = rows[i].expected_loss;
        check.loss = std::max(check.loss, finite_or_infinite(std::abs(loss - expected_loss) /
                                                             std::abs(expected_loss)));
        if (rows[i].gradient <= check.gradient) continue;
        check.gradient = rows[i].gradient;
        check.rank = static_cast<int>(i);
        check.tensor = expected.gradients.at(static_cast<std::size_t>(rows[i].tensor)).name;
    }
    return check;
}

}  // namespace osora::worker
