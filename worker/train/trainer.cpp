#include "worker/train/trainer.hpp"

#include "worker/memory/counted_allocator.hpp"
#include "worker/memory/shortage_text.hpp"
#include "worker/memory/upload.hpp"
#include "worker/parallel/flight/flight_recorder.hpp"
#include "worker/parallel/on_any_rank.hpp"
#include "worker/train/exchange_options.hpp"
#include "worker/train/learning_rate.hpp"
#include "worker/train/pass_order.hpp"
#include "worker/train/step_boundary.hpp"
#include "worker/train/step_laps.hpp"
#include "worker/train/video_tensor.hpp"

#include <ATen/ops/full_like.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>
#include <torch/types.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <utility>

namespace osora::worker {
namespace {

AdamWConfig adamw_config(plan::OptimSection const& optim) {
    return {.lr = optim.lr,
            .beta1 = optim.beta1,
            .beta2 = optim.beta2,
            .eps = optim.eps,
            .weight_decay = optim.weight_decay};
}

LearningRate learning_rate_rule(plan::OptimSection const& optim, plan::StepSpan rate) {
    LrSchedule const schedule = optim.lr_schedule == "cosine"   ? LrSchedule::cosine
                                : optim.lr_schedule == "linear" ? LrSchedule::linear
                                                                : LrSchedule::constant;
    return {.lr = optim.lr,
            .lr_min = optim.lr_min,
            .warmup_steps = optim.warmup_steps,
            .steps = rate.last - rate.first,
            .schedule = schedule};
}

}  // namespace

Trainer::Trainer(plan::WorkerJob const& job, std::unique_ptr<Objective> objective,
                 RankGroups const& groups, Device device)
    : optim_(job.config.optim),
      rate_{0, job.config.train.steps},
      device_(device),
      objective_(std::move(objective)),
      frozen_(job.plan.chosen.offload_frozen
                  ? std::make_unique<FrozenBlocks>(objective_->parameters())
                  : nullptr),
      ranks_(make_data_parallel(objective_->parameters(), groups, exchange_options(job))),
      group_(groups.all),
      optimizer_(values_of(ranks_->pieces()), adamw_config(optim_)),
      ema_(optimizer_.values(), optim_.ema_decay) {
    for (auto const& each : {groups.tokens, groups.linears})
        if (each) sharing_.push_back(each);
    if (groups.stages) {
        stages_ = groups.stages;
        network_ = groups.network;
        sharing_.push_back(stages_);
        sharing_.push_back(network_);
    }
    bool const gathers =
        job.plan.chosen.zero_stage == 3 && groups.all && groups.all->world_size() > 1;
    meets_peers_ = gathers || !sharing_.empty();
    guarded_ = job.config.debug.memory_guard;
    if (groups.replicas) leads_slices_ = groups.replicas->rank() == 0;
    if (groups.stage) leads_stage_ = groups.stage->rank() == 0;
    if (ranks_->pieces().front().values.scalar_type() == at::kHalf) loss_scale_.emplace();
}

void Trainer::use(plan::OptimSection const& optim, plan::StepSpan rate) {
    optim_ = optim;
    rate_ = rate;
    optimizer_.set_config(adamw_config(optim));
    ema_.set_decay(optim.ema_decay);
    objective_->use(optim);
}

MicroBatch Trainer::micro_batch(StepInput const& input, std::int64_t begin,
                                std::int64_t end) const {
    MicroBatch batch;
    auto const part = [&](at::Tensor const& of_step) {
        return of_step.defined() ? of_step.slice(0, begin, end) : of_step;
    };
    auto const here = [&](at::Tensor const& tensor) {
        return tensor.defined() ? uploaded(tensor, device_.torch()) : tensor;
    };
    if (input.latents.defined()) {
        batch.x = here(part(input.latents));
    } else {
        auto const bytes = static_cast<std::size_t>(input.frames * input.height * input.width * 3);
        batch.x =
            video_tensor(input.pixels.subspan(static_cast<std::size_t>(begin) * bytes,
                                              static_cast<std::size_t>(end - begin) * bytes),
                         {end - begin, input.frames, input.height, input.width}, device_.torch());
    }
    batch.text = here(part(input.text));
    batch.text_mask = part(input.text_mask);
    batch.pooled = here(part(input.pooled));
    batch.size = {static_cast<double>(input.height), static_cast<double>(input.width),
                  input.frames};
    batch.samples = {input.identities.begin() + begin, input.identities.begin() + end};
    return batch;
}

double Trainer::waited_s() const {
    return ranks_->waited_s() + shared_s();
}

double Trainer::shared_s() const {
    double waited_s = 0;
    for (auto const& each : sharing_) waited_s += each->waited_s();
    return waited_s;
}

at::Tensor Trainer::divisor(at::Tensor const& norm) const {
    double const limit =
        optim_.grad_clip.value ? *optim_.grad_clip.value : adaptive_limit(grad_norms_);
    bool const limited = std::isfinite(limit) && limit > 0;
    double const scale = loss_scale_ ? loss_scale_->scale : 1;
    if (limited) return clip_scale(norm, limit).mul_(scale);
    return scale == 1 ? at::Tensor() : at::full_like(norm, scale);
}

StepOutput Trainer::update(StepInput const& input, Passed passed, StepLaps& laps) {
    torch::NoGradGuard const no_grad;
    StepOutput output = std::move(passed.output);
    // The same bits on every rank: all skip the same steps.
    at::Tensor const norm = ranks_->norm().div_(output.loss_scale);
    output.grad_norm = norm.item<double>();  // on a GPU the passes are done now
    if (passed.loss_sum.defined())
        output.loss = passed.loss_sum.item<double>() / static_cast<double>(input.samples);
    laps.add_to(output);
    output.skipped = !std::isfinite(output.grad_norm);
    output.lr = learning_rate(learning_rate_rule(optim_, rate_), input.step - rate_.first);
    if (!output.skipped) {
        optimizer_.step(output.lr, divisor(norm));
        grad_norms_ = with_norm(grad_norms_, output.grad_norm);
        ema_.update();
        objective_->after_update();
    }
    return output;
}

at::Tensor Trainer::loss_of_network(at::Tensor const& own) const {
    if (!stages_) return own;
    // Its first rank, of those that share linear layers.
    auto const last =
        static_cast<std::int64_t>(network_->size()) / stages_->size() * (stages_->size() - 1);
    return network_->all_gather(own.view({1})).view(-1).select(0, last);
}

Result<void> Trainer::abandon(StepInput const& input, std::int64_t begin, bool began) {
    if (!sharing_.empty())
        return Error{Errc::out_of_memory, "peers of tp_size, sp_size or pp_size wait in this pass"};
    objective_->parameters().clear_gradients();
    if (input.on_lack) input.on_lack();
    if (input.on_arrival) input.on_arrival();
    for (; begin < input.samples; begin += input.micro_batch_size) {
        bool const last = begin + input.micro_batch_size >= input.samples;
        if (!std::exchange(began, false)) ranks_->begin({.scale = 1, .last = last});
        OSORA_TRY_VOID(ranks_->abandon());
    }
    return {};
}

Result<bool> Trainer::start_objective(StepInput const& input) {
    if (!objective_->awaits_samples()) return true;
    lacked_ = lacked_memory([&] {
        CapScope const capped;
        objective_->see(micro_batch(input, 0, std::min(input.micro_batch_size, input.samples)));
    });
    OSORA_TRY(bool const lacks, on_any_rank(group_, lacked_.has_value()));
    if (lacks) {
        OSORA_TRY_VOID(abandon(input, 0, false));
        return false;
    }
    objective_->start();
    return true;
}

Result<Trainer::Passed> Trainer::passes(StepInput const& input, StepLaps& laps) {
    StepOutput output;
    objective_->parameters().clear_gradients();
    objective_->begin_step(input.step);
    ranks_->begin_step();
    for (auto const& each : sharing_) each->begin_step();
    if (loss_scale_) output.loss_scale = loss_scale_->scale;
    OSORA_TRY(bool const started, start_objective(input));
    if (!started) return Passed{std::move(output), {}};
    // What a GPU waits for is seen in the last lap.
    double waited_s = 0;
    auto const lap = [&](StepLaps::Part part) {
        double const before_s = std::exchange(waited_s, this->waited_s());
        laps.lap(part, waited_s - before_s);
    };
    at::Tensor loss_sum = at::zeros({}, at::TensorOptions(at::kDouble).device(device_.torch()));
    std::map<std::pair<int, std::int64_t>, at::Tensor> losses;  // whose backward is to come
    std::int64_t const size = input.micro_batch_size, count = (input.samples + size - 1) / size;
    auto const order =
        stages_ ? pass_order({stages_->size(), stages_->virtual_stages(), stages_->is_eager()},
                             stages_->rank(), count)
                : pass_order({}, 0, count);
    FlightRecorder* const flight = group_ ? group_->flight() : nullptr;
    for (StagePass const& pass : order) {
        std::pair const key(pass.virtual_stage, pass.micro_batch);
        std::int64_t const begin = pass.micro_batch * size;
        std::int64_t const end = std::min(begin + size, input.samples);
        bool const last = &pass == &order.back();
        bool began = false;
        if (flight != nullptr) flight->at_micro_batch(static_cast<int>(pass.micro_batch));
        lacked_ = lacked_memory([&] {
            CapScope const capped;
            if (pass.forward) {
                if (stages_) stages_->enter(pass.virtual_stage);
                losses[key] = objective_->loss(micro_batch(input, begin, end));
                lap(&StepOutput::forward_s);
                return;
            }
            at::Tensor const loss = losses.extract(key).mapped();
            ranks_->begin({.scale = 1.0 / static_cast<double>(input.global_samples),
                           .last = last,
                           .accumulates = count > 1});
            began = true;
            auto const samples = static_cast<double>(end - begin);
            (loss * (samples * output.loss_scale)).backward();
            loss_sum.add_(loss.detach().to(at::kDouble).mul(samples));
            lap(&StepOutput::backward_s);
        });
        if (lacked_) {
            auto const abandoned = abandon(input, begin, began);
            if (!abandoned.has_error()) return Passed{std::move(output), {}};
            if (input.on_shortage) input.on_shortage({*lacked_, size});
            return Error(abandoned.error()).in(in_brief(*lacked_));
        }
        if (pass.forward) continue;
        if (last && input.on_arrival) {
            laps.wait();
            input.on_arrival();
        }
        OSORA_TRY_VOID(ranks_->finish());
    }
    loss_sum = loss_of_network(loss_sum);
    lap(device_.is_gpu() ? &StepOutput::exposed_comm_s : &StepOutput::backward_s);
    if (!device_.is_gpu()) output.exposed_comm_s = waited_s;
    return Passed{std::move(output), std::move(loss_sum)};
}

Result<StepOutput> Trainer::attempt(StepInput const& input) {
    StepLaps laps(device_.torch());
    OSORA_TRY(auto passed, passes(input, laps));
    double const waited_s = ranks_->waited_s();
    auto output = update(input, std::move(passed), laps);
    bool const counts = !device_.is_gpu();  // a GPU's waits are seen in the next step
    double exposed_s = counts ? ranks_->waited_s() - waited_s : 0;
    laps.lap(&StepOutput::optimizer_s, exposed_s);
    output.collectives = ranks_->costs(output.exposed_comm_s + exposed_s - shared_s());
    for (auto const& each : sharing_)
        std::ranges::move(each->costs(), std::back_inserter(output.collectives));
    if (!output.skipped) {
        double const published_s = ranks_->publish();
        laps.lap(&StepOutput::optimizer_s, published_s);
        exposed_s += counts ? published_s : 0;
    }
    output.exposed_comm_s += exposed_s;
    laps.add_to(output);
    return output;
}

void Trainer::use_recompute(StepInput const& input) {
    auto const& recompute = objective_->recompute_choice();
    if (recompute && input.recompute && !recomputes_all_) *recompute = *input.recompute;
}

Result<void> Trainer::shrink(StepInput& input) {
    if (guarded_ && input.known) {
        PassChoice const known = *std::exchange(input.known, std::nullopt);
        if (input.on_shortage)
            input.on_shortage({lacked_.value_or(""), input.micro_batch_size, known.micro_batch_size,
                               false, true});
        input.micro_batch_size = known.micro_batch_size;
        input.recompute = known.recompute;
        return {};
    }
    auto const& recompute = objective_->recompute_choice();
    bool const can_recompute = recompute && *recompute != plan::RecomputeChoice::full();
    std::string const lacked = lacked_.value_or("");
    auto const shortage = guarded_ ? answer_to(lacked, input.micro_batch_size, can_recompute)
                                   : MemoryShortage{lacked, input.micro_batch_size, 0, false};
    if (input.on_shortage) input.on_shortage(shortage);
    if (shortage.next == 0)
        return Error{Errc::out_of_memory,
                     in_brief(lacked_.value_or("another rank ran out of memory"))};
    guard_.limit({input.frames, input.height, input.width}, shortage.next);
    if (shortage.recomputes) {
        *recompute = plan::RecomputeChoice::full();
        recomputes_all_ = true;
    }
    return {};
}

Result<StepOutput> Trainer::step(StepInput const& input) {
    return at_step_boundary(fmt::format("step {}", input.step), [&]() -> Result<StepOutput> {
        StepInput tried = input;
        for (;;) {
            tried.micro_batch_size = std::min(
                input.samples, guard_.micro_batch_size({input.frames, input.height, input.width},
                                                       tried.micro_batch_size));
            use_recompute(tried);
            OSORA_TRY(auto output, attempt(tried));
            // Peers have a gradient of all samples, and have made their step.
            if (lacked_ && !output.skipped) return Error{Errc::out_of_memory, in_brief(*lacked_)};
            OSORA_TRY(bool const for_memory, output.skipped
                                                 ? on_any_rank(group_, lacked_.has_value())
                                                 : Result<bool>(false));
            if (for_memory) {
                OSORA_TRY_VOID(shrink(tried));
                continue;
            }
            if (loss_scale_) loss_scale_ = with_step(*loss_scale_, !output.skipped);
            output.micro_batch_size = tried.micro_batch_size;
            if (auto const& recompute = objective_->recompute_choice())
                output.recompute = *recompute;
            return output;
        }
    });
}

double Trainer::mean_loss(StepInput const& input) {
    torch::NoGradGuard const no_grad;
    double sum = 0;
    for (std::int64_t begin = 0; begin < input.samples; begin += input.micro_batch_size) {
        std::int64_t const end = std::min(begin + input.micro_batch_size, input.samples);
        MicroBatch const batch = micro_batch(input, begin, end);
        double last = 0;  // of the last run of blocks, which has the loss
        for (int run = 0; run < (stages_ ? stages_->virtual_stages() : 1); ++run) {
            if (stages_) stages_->enter(run);
            last = objective_->held_out_loss(batch).item<double>();
        }
        if (stages_) stages_->finish_sends();
        sum += last * static_cast<double>(end - begin);
    }
    return sum / static_cast<double>(input.samples);
}

Result<double> Trainer::loss(StepInput const& input) {
    return at_step_boundary(fmt::format("loss of step {}", input.step), [&]() -> Result<double> {
        MemoryGuard::ClipSize const clips{input.frames, input.height, input.width};
        StepInput tried = input;
        for (;;) {
            auto const trained = guard_.micro_batch_size(clips, tried.micro_batch_size);
            tried.micro_batch_size =
                std::min(input.samples, held_out_guard_.micro_batch_size(clips, trained));
            double mean = 0;
            auto const lacked = lacked_memory([&] { mean = mean_loss(tried); });
            if (!lacked) return mean;
            if (input.on_lack) input.on_lack();
            if (meets_peers_)
                return Error{Errc::out_of_memory, in_brief(*lacked)}.in(
                    "peers of tp_size, sp_size, pp_size or zero_stage 3 wait in this pass");
            auto const smaller = answer_to(*lacked, tried.micro_batch_size, false);
            if (!guarded_ || smaller.next == 0)
                return Error{Errc::out_of_memory, in_brief(*lacked)};
            held_out_guard_.limit(clips, smaller.next);
        }
    });
}

}  // namespace osora::worker
