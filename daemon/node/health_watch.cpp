// A sample is compared with the last reported one, so slow changes show as well. Alarms are Xids,
// uncorrected memory errors and GPUs that have disappeared.
#include "daemon/node/health_watch.hpp"

#include "topology/xid.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace osora::daemon {
namespace {

using protocol::GpuHealth;
using protocol::NodeHealth;

constexpr int kRegularSlots = 60;
constexpr double kTemperatureStep_c = 10;
constexpr std::size_t kWhyBytes = 200;

void add(std::string& text, std::string const& more) {
    if (text.size() + more.size() > kWhyBytes) return;
    if (!text.empty()) text += "; ";
    text += more;
}

bool doubled_or_halved(std::int64_t before, std::int64_t now) {
    if (before <= 0 || now <= 0) return false;
    return now < before / 2 || now > before * 2;
}

GpuHealth const* find(NodeHealth const& health, int gpu) {
    auto const found = std::ranges::find(health.gpus, gpu, &GpuHealth::gpu);
    return found != health.gpus.end() ? &*found : nullptr;
}

std::string slowed_by(std::int64_t reasons) {
    if ((reasons & protocol::kThrottlePowerBrake) != 0) return "power brake";
    if ((reasons & protocol::kThrottleTrouble) == protocol::kThrottleHardware) return "hardware";
    return "heat";
}

std::string change_of(GpuHealth const& before, GpuHealth const& now) {
    auto const trouble = now.throttle_reasons & protocol::kThrottleTrouble;
    if (trouble != (before.throttle_reasons & protocol::kThrottleTrouble)) {
        return trouble == 0 ? fmt::format("GPU {} at full speed again", now.gpu)
                            : fmt::format("GPU {} slowed down: {}", now.gpu, slowed_by(trouble));
    }
    bool const crossed =
        (now.temperature_c >= protocol::kGpuHot_c) != (before.temperature_c >= protocol::kGpuHot_c);
    double const step = now.temperature_c - before.temperature_c;
    bool const moved = crossed ? std::abs(step) > 2 : std::abs(step) >= kTemperatureStep_c;
    return moved ? fmt::format("GPU {} at {:.0f} C", now.gpu, now.temperature_c) : "";
}

}  // namespace

void HealthWatch::add_alarms(NodeHealth const& sample, Report& report) const {
    auto const add_alarm = [&report](std::string const& text, bool is_fault) {
        add(report.alarm, text);
        if (is_fault) add(report.fault, text);
    };
    for (GpuHealth const& gpu : sample.gpus) {
        for (int const xid : gpu.xids) {
            add_alarm(fmt::format("GPU {}: Xid {}", gpu.gpu, xid), topology::is_fatal_xid(xid));
        }
        auto const known = ecc_.find(gpu.gpu);
        auto const before = known != ecc_.end() ? known->second : gpu.ecc_uncorrected;
        if (gpu.ecc_uncorrected <= before) continue;
        add_alarm(fmt::format("GPU {}: {} uncorrected memory errors", gpu.gpu,
                              gpu.ecc_uncorrected - before),
                  true);
    }
    if (sample.gpus.size() < gpus_ && !lost_reported_) {
        add_alarm(fmt::format("{} of {} GPUs answer", sample.gpus.size(), gpus_), true);
    }
}

std::string HealthWatch::change_of(NodeHealth const& sample) const {
    if (!reported_) return "";
    std::string text;
    for (GpuHealth const& gpu : sample.gpus) {
        GpuHealth const* before = find(*reported_, gpu.gpu);
        if (before == nullptr) continue;
        if (auto const change = daemon::change_of(*before, gpu); !change.empty()) add(text, change);
    }
    if (doubled_or_halved(reported_->memory_available_bytes, sample.memory_available_bytes)) {
        add(text, "available memory");
    }
    if (doubled_or_halved(reported_->disk_free_bytes, sample.disk_free_bytes))
        add(text, "free disk");
    return text;
}

std::optional<HealthWatch::Report> HealthWatch::take(MonotonicTime now, NodeHealth sample) {
    if (sample.gpus.size() > protocol::kHealthGpusMax) sample.gpus.resize(protocol::kHealthGpusMax);
    if (next_regular_ == kNever) {
        next_regular_ = now + (options_.node % kRegularSlots) * options_.every;
    }
    for (GpuHealth& gpu : sample.gpus) {
        if (gpu.xids.size() > protocol::kHealthXidsMax) gpu.xids.resize(protocol::kHealthXidsMax);
    }
    Report report;
    add_alarms(sample, report);
    lost_reported_ = sample.gpus.size() < gpus_;
    gpus_ = std::max(gpus_, sample.gpus.size());
    for (GpuHealth const& gpu : sample.gpus) {
        ecc_[gpu.gpu] = std::max(ecc_[gpu.gpu], gpu.ecc_uncorrected);
    }
    std::string why = report.alarm;
    if (now - reported_at_ >= options_.pause) add(why, change_of(sample));
    if (why.empty() && now < next_regular_) return std::nullopt;
    if (now >= next_regular_) next_regular_ = now + options_.regular;
    sample.node = options_.node;
    sample.number = number_++;
    sample.why = why.empty() ? "regular" : why;
    reported_ = sample;
    reported_at_ = now;
    report.record = std::move(sample);
    return report;
}

}  // namespace osora::daemon
