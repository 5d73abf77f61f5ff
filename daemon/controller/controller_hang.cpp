// A rank that makes no progress: visible in the heartbeats, examined by the agents before anything
// is killed, then a fault of the run. A run that continues meanwhile was only slow.
#include "daemon/controller/controller_impl.hpp"

#include <fmt/format.h>

#include <cmath>

namespace osora::daemon {

using namespace protocol;

namespace {

constexpr MonotonicTime kHangPeriod = std::chrono::milliseconds(250);
constexpr std::string_view kStopped = "is stopped";  // prefix of the state of a stopped process

double median_of(std::deque<double> const& times) {
    std::vector<double> sorted(times.begin(), times.end());
    std::erase_if(sorted, [](double each) { return !std::isfinite(each); });
    std::ranges::sort(sorted);
    return sorted.empty() ? 0 : sorted[sorted.size() / 2];
}

}  // namespace

/// Workers run, and may be silent for too long. What a user program does between two steps is
/// unknown, so only the user can say how long that may take.
bool ControllerCore::Impl::may_hang() const {
    bool const workers = status_.state == RunState::running ||
                         (status_.state == RunState::launching && status_.ordered);
    return workers && (!status_.exec || options_.step_timeout_s > 0);
}

std::optional<HangDetected> ControllerCore::Impl::find_hang_now() const {
    std::vector<ObservedRank> heartbeats;
    for (int node = 0; node < node_count(); ++node) {
        Heartbeat const& beat = links_[static_cast<std::size_t>(node)].heartbeat;
        if (beat.attempt != status_.attempt) continue;
        for (RankHeartbeat const& rank : beat.ranks) {
            ObservedRank each{node, rank, false};
            if (inquiry_) {
                auto const state = inquiry_->states.find(rank.rank);
                each.stopped =
                    state != inquiry_->states.end() && state->second.starts_with(kStopped);
            }
            heartbeats.push_back(each);
        }
    }
    auto const hang =
        find_hang(heartbeats, HangLimits{options_.step_timeout_s, median_of(step_times_)});
    if (!hang) return std::nullopt;
    RankHeartbeat const& rank = hang->rank;
    HangDetected found{status_.attempt, hang->node,    rank.rank,
                       rank.phase,      rank.silent_s, rank.step};
    if (is_waiting(rank) && !hang->stopped) {
        found.detail =
            "waits for the others, and all have arrived: the network, or ranks that do "
            "not call the same collectives";
        return found;
    }
    found.waiting =
        static_cast<int>(std::ranges::count_if(heartbeats, [&](ObservedRank const& each) {
            return each.rank.rank != rank.rank && is_waiting(each.rank);
        }));
    if (!inquiry_) return found;
    auto const state = inquiry_->states.find(rank.rank);
    if (state != inquiry_->states.end()) found.detail = state->second;
    return found;
}

void ControllerCore::Impl::look_for_hang() {
    if (!may_hang() || (inquiry_ && inquiry_->attempt != status_.attempt)) inquiry_.reset();
    // Every rank is checked: often enough for limits of seconds, not once for each agent.
    if (!may_hang() || inquiry_ || now_.monotonic - hang_looked_ < kHangPeriod) return;
    hang_looked_ = now_.monotonic;
    if (!find_hang_now()) return;
    inquire();
}

void ControllerCore::Impl::inquire() {
    HangInquiry inquiry;
    inquiry.attempt = status_.attempt;
    inquiry.deadline = now_.monotonic + options_.stacks_limit;
    double const limit_s = std::chrono::duration<double>(options_.stacks_limit).count();
    for (int node = 0; node < node_count(); ++node) {
        bool const reachable = link(node).connection >= 0;
        inquiry.waiting_for.push_back(reachable);
        if (reachable) send(node, TakeStacks{status_.attempt, limit_s}, false);
    }
    inquiry_ = std::move(inquiry);
}

void ControllerCore::Impl::hear(int connection, StacksTaken const& message) {
    if (!inquiry_ || message.attempt != inquiry_->attempt) return;
    int const node = connections_[connection].node;
    inquiry_->waiting_for[static_cast<std::size_t>(node)] = false;
    int const first_rank = node * status_.ranks_per_node;
    for (RankState const& each : message.ranks) {
        bool const here =
            each.rank >= first_rank && each.rank < first_rank + status_.ranks_per_node;
        if (here) inquiry_->states[each.rank] = each.state.substr(0, 200);
    }
    if (std::ranges::find(inquiry_->waiting_for, true) == inquiry_->waiting_for.end()) {
        end_inquiry();
    }
}

void ControllerCore::Impl::end_inquiry() {
    auto hang = may_hang() && inquiry_->attempt == status_.attempt ? find_hang_now() : std::nullopt;
    inquiry_.reset();
    if (!hang) return;
    std::string const flights = options_.read_flights ? options_.read_flights(hang->attempt) : "";
    if (!flights.empty())
        hang->detail = (hang->detail.empty() ? "hangs" : hang->detail) + "; " + flights;
    record(*hang);
}

}  // namespace osora::daemon
