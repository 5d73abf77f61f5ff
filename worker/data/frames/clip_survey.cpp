#include "worker/data/frames/clip_survey.hpp"

#include <algorithm>
#include <cstdlib>

namespace osora::worker {
namespace {

/// later - earlier, in ticks; the largest number for damaged times that are further apart.
std::int64_t ticks_between(std::int64_t earlier, std::int64_t later) {
    std::int64_t ticks = 0;
    return __builtin_sub_overflow(later, earlier, &ticks) ? INT64_MAX : ticks;
}

/// Times of the shown frames, ascending: of display where all are known, else of decoding.
std::vector<std::int64_t> shown_frame_times(std::vector<SurveyedPacket> const& packets) {
    bool const has_pts = std::ranges::none_of(
        packets, [](SurveyedPacket const& each) { return each.time.pts == kNoTime; });
    std::vector<std::int64_t> times;
    for (SurveyedPacket const& each : packets) {
        std::int64_t const time = has_pts ? each.time.pts : each.time.dts;
        if (!each.time.discard && time != kNoTime) times.push_back(time);
    }
    std::ranges::sort(times);
    return times;
}

std::vector<Spacing> keyframe_spacing(std::vector<SurveyedPacket> const& packets, double tick_s,
                                      std::int64_t usual_ticks) {
    std::vector<Spacing> all;
    std::size_t begin = packets.size();
    auto const close = [&](std::size_t end) {
        if (begin >= end) return;
        std::int64_t const from = packets[begin].time.dts;
        std::int64_t const to =
            end < packets.size() ? packets[end].time.dts : packets.back().time.dts;
        bool const known = from != kNoTime && to != kNoTime && to >= from;
        double const ticks = known ? static_cast<double>(ticks_between(from, to)) +
                                         static_cast<double>(end < packets.size() ? 0 : usual_ticks)
                                   : 0;
        all.push_back({.s = ticks * tick_s, .packets = static_cast<std::int64_t>(end - begin)});
    };
    for (std::size_t i = 0; i < packets.size(); ++i) {
        if (!packets[i].time.key) continue;
        close(i);
        begin = i;
    }
    close(packets.size());
    return all;
}

}  // namespace

PacketFigures figures_of(ClipSurvey const& survey) {
    PacketFigures figures;
    if (survey.packets.empty()) return figures;
    double const tick_s = static_cast<double>(survey.time_base_num) / survey.time_base_den;
    auto const times = shown_frame_times(survey.packets);
    std::vector<std::int64_t> steps;
    for (std::size_t i = 1; i < times.size(); ++i)
        steps.push_back(ticks_between(times[i - 1], times[i]));
    std::ranges::sort(steps);
    std::int64_t const usual = steps.empty() ? 0 : steps[steps.size() / 2];
    if (!steps.empty()) {
        std::int64_t const slack = std::max<std::int64_t>(2, usual / 100);
        figures.constant_rate = steps.back() - steps.front() <= slack;
        double const first_to_last =
            static_cast<double>(ticks_between(times.front(), times.back()));
        figures.duration_s = (first_to_last + static_cast<double>(usual)) * tick_s;
    } else if (survey.facts.fps > 0) {
        figures.duration_s = survey.facts.num_frames / survey.facts.fps;
    }
    figures.keyframes = keyframe_spacing(survey.packets, tick_s, usual);
    std::int64_t shown = 0, nearest = INT64_MAX;
    std::int64_t const middle = survey.facts.num_frames / 2;
    for (SurveyedPacket const& each : survey.packets) {
        if (each.time.key && std::abs(shown - middle) < nearest) {
            nearest = std::abs(shown - middle);
            figures.cheap_keyframe = shown;
        }
        if (!each.time.discard) ++shown;
    }
    return figures;
}

}  // namespace osora::worker
