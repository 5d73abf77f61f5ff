#include "worker/jobs/sample/sample_plan.hpp"

#include "plan/layout/divisibility.hpp"
#include "plan/model/model_cost.hpp"
#include "plan/model/model_sizes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace osora::worker {
namespace {

/// Defaults of opensora/schedulers/rf (v1.2) and of SamplingOption (v2.0).
constexpr int kStdit3Steps = 30, kMmditSteps = 50;
constexpr double kStdit3Scale = 7.0, kMmditScale = 4.0;
constexpr double kUsualFps = 24;

Result<void> check_side(char const* what, int pixels, int multiple) {
    if (pixels % multiple == 0) return {};
    return Error{
        Errc::not_divisible,
        fmt::format("{} {}: the network takes multiples of {} pixels; nearest valid: {}", what,
                    pixels, multiple, fmt::join(plan::nearest_multiples(multiple, pixels), ", "))};
}

}  // namespace

std::int64_t SamplePlan::latent_frames() const {
    return plan::latent_frames(plan::dit_sizes(shape), num_frames);
}

Result<SamplePlan> sample_plan(SampleRequest const& request, CheckpointState const& state,
                               plan::VaeShape const& vae) {
    plan::ModelSection model = state.model;
    model.arch = state.arch;  // checkpoints from before sizes could be set have this alone
    SamplePlan made;
    auto shape = plan::model_shape(model);
    if (shape.has_error()) return Error(shape.error()).in("checkpoint");
    made.shape = std::move(*shape);
    if (!made.is_latent() && made.shape.in_channels != 3) made.shape.vae = vae;
    bool const mmdit = made.shape.family == plan::ModelFamily::mmdit;
    TrainedOn const& trained = state.trained_on;
    made.num_frames = request.num_frames > 0 ? request.num_frames : trained.num_frames;
    made.width = request.width > 0 ? request.width : trained.width;
    made.height = request.height > 0 ? request.height : trained.height;
    made.fps = request.fps > 0 ? request.fps : trained.fps > 0 ? trained.fps : kUsualFps;
    made.steps = request.steps > 0 ? request.steps : mmdit ? kMmditSteps : kStdit3Steps;
    made.cfg_scale = request.cfg_scale.value_or(mmdit ? kMmditScale : kStdit3Scale);
    made.seed = request.seed;
    made.timestep_shift = trained.timestep_shift;
    auto const within = [](int value, int most) { return value >= 1 && value <= most; };
    if (!within(made.num_frames, kSampleFramesMax) || !within(made.width, kSampleSideMax) ||
        !within(made.height, kSampleSideMax)) {
        return Error{Errc::invalid_input,
                     "the checkpoint does not say what it was trained on; give --frames and "
                     "--size"};
    }
    int const multiple = made.shape.pixel_multiple();
    OSORA_TRY_VOID(check_side("--size: width", made.width, multiple));
    OSORA_TRY_VOID(check_side("--size: height", made.height, multiple));
    return made;
}

}  // namespace osora::worker
