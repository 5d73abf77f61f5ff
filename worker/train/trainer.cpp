#include "worker/train/trainer.hpp"

#include "worker/train/step_boundary.hpp"
#include "worker/train/video_tensor.hpp"

#include <fmt/format.h>
#include <torch/types.h>

#include <chrono>
#include <cmath>
#include <exception>

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

std::vector<NamedTensor> named(Parameters const& parameters,
                               std::vector<at::Tensor> const& values) {
    std::vector<NamedTensor> list;
    std::size_t next = 0;
    for (NamedTensor const& each : parameters.all()) {
        if (each.kind == TensorKind::trainable) list.push_back({each.name, values[next++]});
    }
    return list;
}

/// Copies `from` (by name) into the tensors of `into`.
Result<void> copy_named(std::vector<NamedTensor> const& from, std::vector<NamedTensor> into) {
    torch::NoGradGuard const no_grad;
    std::map<std::string, at::Tensor> by_name;
    for (NamedTensor const& each : from) by_name.emplace(each.name, each.tensor);
    for (NamedTensor& each : into) {
        auto const found = by_name.find(each.name);
        if (found == by_name.end()) {
            return Error{Errc::corrupt, fmt::format("checkpoint lacks {}", each.name)};
        }
        if (found->second.sizes() != each.tensor.sizes()) {
            return Error{Errc::corrupt, fmt::format("checkpoint: {} has another shape", each.name)};
        }
        each.tensor.copy_(found->second);
    }
    return {};
}

}  // namespace

Trainer::Trainer(plan::WorkerJob const& job, std::unique_ptr<Objective> objective,
                 std::optional<Group> group, Device device)
    : optim_(job.config.optim),
      device_(device),
      objective_(std::move(objective)),
      trainable_(objective_->parameters().trainable()),
      optimizer_(trainable_, {.lr = optim_.lr}),
      ema_(trainable_, optim_.ema_decay),
      reducer_(trainable_, std::move(group),
               {.bucket_mib = static_cast<double>(job.plan.chosen.grad_bucket_mib),
                .way = reduce_way(job.config.debug.collectives, job.config.parallel.overlap)}) {}

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

double Trainer::norm_limit() const {
    return optim_.grad_clip.value ? *optim_.grad_clip.value : adaptive_limit(grad_norms_);
}

StepOutput Trainer::update(StepOutput output) {
    torch::NoGradGuard const no_grad;
    // Tensor by tensor also where the gradients lie in flat buckets: the fp32 sum over a long
    // bucket differs by 1e-5, and the norm must not depend on the number of ranks.
    at::Tensor const norm = global_norm(gradients_of(trainable_));
    output.grad_norm = norm.item<double>();
    output.skipped = !std::isfinite(output.grad_norm);
    output.lr = warmup_lr(optim_.lr, optimizer_.steps(), optim_.warmup_steps);
    if (output.skipped) return output;
    double const limit = norm_limit();
    bool const limited = std::isfinite(limit) && limit > 0;
    optimizer_.step(output.lr, limited ? clip_scale(norm, limit) : at::Tensor());
    grad_norms_ = with_norm(grad_norms_, output.grad_norm);
    ema_.update();
    objective_->after_update();
    return output;
}

Result<StepOutput> Trainer::step(StepInput const& input) {
    // The step boundary: what LibTorch throws becomes an Error here and nowhere else.
    try {
        StepOutput output;
        Stopwatch watch(device_);
        objective_->parameters().clear_gradients();
        objective_->begin_step(input.step);
        double loss_sum = 0;
        for (std::int64_t begin = 0; begin < input.samples; begin += input.micro_batch_size) {
            std::int64_t const end = std::min(begin + input.micro_batch_size, input.samples);
            double const share = static_cast<double>(end - begin);
            at::Tensor const loss = objective_->loss(micro_batch(input, begin, end));
            output.forward_s += watch.lap();
            if (end == input.samples)
                reducer_.begin(1.0 / static_cast<double>(input.global_samples));
            (loss * share).backward();
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
        output = update(output);
        output.optimizer_s = watch.lap();
        return output;
    } catch (c10::OutOfMemoryError const& error) {
        return Error{Errc::out_of_memory, error.what_without_backtrace()};
    } catch (c10::DistError const& error) {
        return Error{Errc::unreachable, error.what_without_backtrace()};
    } catch (c10::Error const& error) {
        return Error{Errc::io, fmt::format("LibTorch: {}", error.what_without_backtrace())};
    } catch (std::exception const& error) {
        return Error{Errc::io, fmt::format("step {}: {}", input.step, error.what())};
    }
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

CheckpointTensors Trainer::tensors() const {
    CheckpointTensors live;
    live.model = parameters().all();
    live.ema = named(parameters(), ema_.values());
    live.exp_avg = named(parameters(), optimizer_.exp_avg());
    live.exp_avg_sq = named(parameters(), optimizer_.exp_avg_sq());
    live.objective = objective_->state();
    return live;
}

Result<void> Trainer::restore(LoadedCheckpoint const& checkpoint) {
    auto const live = tensors();
    OSORA_TRY_VOID(copy_named(checkpoint.tensors.model, live.model));
    OSORA_TRY_VOID(copy_named(checkpoint.tensors.ema, live.ema));
    OSORA_TRY_VOID(copy_named(checkpoint.tensors.exp_avg, live.exp_avg));
    OSORA_TRY_VOID(copy_named(checkpoint.tensors.exp_avg_sq, live.exp_avg_sq));
    OSORA_TRY_VOID(copy_named(checkpoint.tensors.objective, live.objective));
    optimizer_.set_steps(checkpoint.state.optimizer_steps);
    grad_norms_ = checkpoint.state.grad_norms;
    return {};
}

}  // namespace osora::worker
