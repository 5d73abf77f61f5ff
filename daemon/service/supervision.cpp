#include "daemon/service/supervision.hpp"

#include <fmt/format.h>

namespace osora::daemon {
namespace {

constexpr MonotonicTime kFirstDelay = std::chrono::milliseconds(500);

std::string describe(ControllerEnd const& end) {
    if (!end.not_started.empty()) return end.not_started;
    if (!end.known) return "the controller is gone";
    if (end.signal != 0) return fmt::format("the controller was killed by signal {}", end.signal);
    return fmt::format("the controller exited with {}", end.exit_code);
}

}  // namespace

SupervisionStep Supervision::on_end(MonotonicTime now, ControllerEnd const& end) {
    SupervisionStep step;
    step.why = describe(end);
    bool const crashed =
        end.unclean_exit || !end.not_started.empty() || (end.known && end.signal != 0);
    if (!crashed) return step;
    while (!crashes_.empty() && now - crashes_.front() > kWindow) crashes_.pop_front();
    if (crashes_.size() >= kCrashesMax) {
        step.what = AfterEnd::give_up;
        step.why += fmt::format(", {} times within a minute", crashes_.size() + 1);
        return step;
    }
    step.what = AfterEnd::restart;
    if (!crashes_.empty()) step.delay = kFirstDelay * (1 << (crashes_.size() - 1));
    crashes_.push_back(now);
    return step;
}

}  // namespace osora::daemon
