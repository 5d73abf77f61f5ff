#include "worker/train/trainer.hpp"

#include "worker/train/learning_rate.hpp"
#include "worker/train/step_boundary.hpp"
#include "worker/train/video_tensor.hpp"

#include <ATen/ops/full_like.h>
#include <fmt/format.h>
#include <torch/types.h>

#include <chrono>
#include <cmath>

namespace osora::worker {
namespace {

class Stopwatch {
public:
    explicit Stopwatch(Device const& device) : device_(device) {}

    /// Seconds since the last call (or the construction), until all that was queued has run.
    double lap() {
        device_.synchronize();
        auto const now = std::chrono::steady_clock::now();
        std::chrono::duration<double> const passed = now - last_;
        last_ = now;
        return passed.count();
    }

private:
    Device const& device_;
    std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

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
                 std::optional<Group> group, Device device)
    : optim_(job.config.optim),
      rate_{0, job.config.train.steps},
      device_(device),
      objective_(std::move(objective)),
      trainable_(objective_->parameters().trainable()),
      optimizer_(trainable_, adamw_config(optim_)),
      ema_(optimizer_.values(), optim_.ema_decay),
      reducer_(trainable_, std::move(group),
               {.bucket_mib = static_cast<double>(job.plan.chosen.grad_bucket_mib),
                .way = reduce_way(job.config.debug.collectives, job.config.parallel.overlap)}) {
    if (trainable_.front().scalar_type() == at::kHalf) loss_scale_.emplace();
}

void Trainer::use(plan::OptimSection const& optim, plan::StepSpan rate) {
    optim_ = optim;
    rate_ = rate;
    optimizer_.set_config(adamw_config(optim));
    ema_.set_decay(optim.ema_decay);
}

MicroBatch Trainer::micro_batch(StepInput const& input, std::int64_t begin,
                                std::int64_t end) const {
    MicroBatch batch;
    auto const part = [&](at::Tensor const& of_step) {
        return of_step.defined() ? of_step.slice(0, begin, end) : of_step;
    };
    auto const here = [&](at::Tensor const& tensor) {
        return tensor.defined() ? tensor.to(device_.torch()) : tensor;
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

at::Tensor Trainer::divisor(at::Tensor const& norm) const {
    double const limit =
        optim_.grad_clip.value ? *optim_.grad_clip.value : adaptive_limit(grad_norms_);
    bool const limited = std::isfinite(limit) && limit > 0;
    double const scale = loss_scale_ ? loss_scale_->scale : 1;
    if (limited) return clip_scale(norm, limit).mul_(scale);
    return scale == 1 ? at::Tensor() : at::full_like(norm, scale);
}

StepOutput Trainer::update(int step, StepOutput output) {
    torch::NoGradGuard const no_grad;
    // Tensor by tensor also where the gradients lie in flat buckets: the fp32 sum over a long
    // bucket differs by 1e-5, and the norm must not depend on the number of ranks. Reduced
    // gradients are the same bits on every rank, so all ranks skip the same steps.
    at::Tensor const norm = global_norm(gradients_of(trainable_)).div_(output.loss_scale);
    output.grad_norm = norm.item<double>();
    output.skipped = !std::isfinite(output.grad_norm);
    output.lr = learning_rate(learning_rate_rule(optim_, rate_), step - rate_.first);
    if (!output.skipped) {
        optimizer_.step(output.lr, divisor(norm));
        grad_norms_ = with_norm(grad_norms_, output.grad_norm);
        ema_.update();
        objective_->after_update();
    }
    if (loss_scale_) loss_scale_ = with_step(*loss_scale_, !output.skipped);
    return output;
}

Result<StepOutput> Trainer::step(StepInput const& input) {
    return at_step_boundary(fmt::format("step {}", input.step), [&]() -> Result<StepOutput> {
        StepOutput output;
        Stopwatch watch(device_);
        objective_->parameters().clear_gradients();
        objective_->begin_step(input.step);
        if (loss_scale_) output.loss_scale = loss_scale_->scale;
        double loss_sum = 0;
        for (std::int64_t begin = 0; begin < input.samples; begin += input.micro_batch_size) {
            std::int64_t const end = std::min(begin + input.micro_batch_size, input.samples);
            double const share = static_cast<double>(end - begin);
            at::Tensor const loss = objective_->loss(micro_batch(input, begin, end));
            output.forward_s += watch.lap();
            if (end == input.samples)
                reducer_.begin(1.0 / static_cast<double>(input.global_samples));
            (loss * (share * output.loss_scale)).backward();
            loss_sum += loss.item<double>() * share;
            output.backward_s += watch.lap();
        }
        if (input.on_arrival) input.on_arrival();
        OSORA_TRY(auto const reduced, reducer_.finish());
        // On a GPU finish() only queues the wait: all of this lap is communication.
        double const finished_s = watch.lap();
        output.exposed_comm_s = device_.is_gpu() ? finished_s : reduced.exposed_wait_s;
        output.backward_s += finished_s - output.exposed_comm_s;
        output.collectives = reducer_.costs(output.exposed_comm_s);
        output.loss = loss_sum / static_cast<double>(input.samples);
        output = update(input.step, output);
        output.optimizer_s = watch.lap();
        return output;
    });
}

Result<double> Trainer::loss(StepInput const& input) {
    return at_step_boundary(fmt::format("loss of step {}", input.step), [&]() -> Result<double> {
        torch::NoGradGuard const no_grad;
        double sum = 0;
        for (std::int64_t begin = 0; begin < input.samples; begin += input.micro_batch_size) {
            std::int64_t const end = std::min(begin + input.micro_batch_size, input.samples);
            sum += objective_->loss(micro_batch(input, begin, end)).item<double>() *
                   static_cast<double>(end - begin);
        }
        return sum / static_cast<double>(input.samples);
    });
}

}  // namespace osora::worker
