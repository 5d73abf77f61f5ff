#include "plan/layout/score_layout.hpp"

#include "base/text/text.hpp"
#include "plan/layout/separate_ranks.hpp"
#include "protocol/clip_score.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace osora::plan {
namespace {

constexpr double kKeyframeFrames = 125;  // mean distance to the keyframe before: half of 250
constexpr double kTextFrameS = 0.3;      // reading a frame of 720 lines, one thread
constexpr int kTextFramesMax = 4;        // of a clip (worker/clips/clip_scorer.hpp)
constexpr int kScoreThreadsMax = 64;

bool is_asked(RunConfig const& config, std::string_view name) {
    return std::ranges::find(config.score.scores, name) != config.score.scores.end();
}

/// Seconds of one thread for all clips of the list; clips that do not give their numbers count as
/// the mean of the others.
double work_s(PlanRequest const& request, ListedWork const& list) {
    auto const& config = request.config;
    double const measured = request.calibration.decode_ms_per_megapixel;
    double const rate = (measured > 0 ? measured : nominal_cpu().decode_ms_per_megapixel) / 1e3;
    auto const sized = static_cast<double>(list.sized);
    double const frames = list.frames / sized, picture = list.megapixels / sized;
    double const whole = list.megapixel_frames / sized;  // megapixels of a whole clip
    auto const decoded = [&](int sampled) {
        return std::min(whole, picture * sampled * (1 + std::min(frames / 2, kKeyframeFrames)));
    };
    int const sampled = config.score.frames.value_or(protocol::kScoreFrames);
    double seconds = 0;
    if (is_asked(config, "motion") || is_asked(config, "blur") || is_asked(config, "brightness"))
        seconds += rate * decoded(sampled);
    if (is_asked(config, "cuts")) seconds += rate * whole;
    if (is_asked(config, "text")) {
        int const read = std::min(sampled, kTextFramesMax);
        seconds += rate * decoded(read) + kTextFrameS * read;
    }
    return seconds * static_cast<double>(list.rows);
}

}  // namespace

Result<PlanDecision> plan_of_score(PlanRequest const& request) {
    auto const& config = request.config;
    PlanDecision decision;
    LayoutPlan& chosen = decision.chosen;
    chosen = separate_ranks(request);
    chosen.num_workers = std::max(
        1, config.data.num_workers.value_or(std::min(chosen.threads_per_rank, kScoreThreadsMax)));
    decision.reasons.emplace_back(
        "ranks take blocks of clips in the order of the list, each as it is free");
    if (!request.listed) return decision;
    ListedWork const& list = *request.listed;
    decision.predicted.clips = list.rows;
    if (list.unusable > 0) {
        decision.reasons.push_back(
            fmt::format("{} of the list cannot be read and will have no scores",
                        counted(list.unusable, "row")));
    }
    if (!model_files(config.score).empty()) {
        decision.reasons.emplace_back(
            "how long the TorchScript models take is not known, so the time is not predicted");
        return decision;
    }
    if (list.sized == 0) {
        decision.reasons.emplace_back(
            "no row gives num_frames, height and width, so the time is not predicted; osora data "
            "index fills them in");
        return decision;
    }
    double const threads = static_cast<double>(chosen.dp_size) * chosen.num_workers;
    decision.predicted.total_s = work_s(request, list) / threads;
    decision.predicted.samples_per_s =
        static_cast<double>(list.rows) / std::max(decision.predicted.total_s, 1e-9);
    decision.reasons.push_back(
        fmt::format("time: decoding {}, from the sizes of {}",
                    request.calibration.measured && request.calibration.decode_ms_per_megapixel > 0
                        ? "as measured on this machine"
                        : "at a typical rate",
                    counted(list.sized, "row")));
    return decision;
}

}  // namespace osora::plan
