#include "worker/parallel/flight/flight_watch.hpp"

#include "base/files/descriptor.hpp"
#include "protocol/flight/flight_analysis.hpp"
#include "protocol/flight/flight_files.hpp"
#include "worker/parallel/flight/flight_signal.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

namespace osora::worker {
namespace {

using Clock = FlightRecorder::Clock;
using Seconds = std::chrono::duration<double>;

constexpr std::uint64_t kEnds = 1u << 20;  // flight_signal.cpp
constexpr int kReadersMax = 64;            // ranks that read what all have written down
constexpr auto kPollPeers = std::chrono::milliseconds(20);

Clock::duration ticks(double seconds) {
    return std::chrono::duration_cast<Clock::duration>(Seconds(seconds));
}

}  // namespace

double explain_limit_s(double timeout_s) {
    return std::min(2.0, timeout_s / 4);
}

struct FlightWatch::Impl {
    explicit Impl(Options wanted)
        : options(std::move(wanted)),
          recorder(std::make_shared<FlightRecorder>()),
          asked(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
          answered(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

    void run(std::stop_token const& stop);
    void write_down(std::string const& why);
    [[nodiscard]] std::string story();
    [[nodiscard]] bool reads() const;
    void look();
    void ends_with(Error const& error, double within_s);
    [[nodiscard]] int period_ms() const;

    Options options;
    std::shared_ptr<FlightRecorder> recorder;
    Descriptor asked, answered;
    std::mutex mutex;
    std::optional<Error> failed;  // the rank ends with it
    std::optional<Clock::time_point> gone_by;
    std::jthread thread;
};

/// In a large run some ranks do for all.
bool FlightWatch::Impl::reads() const {
    int const stride = options.world_size / kReadersMax + 1;
    return options.rank % stride == 0;
}

void FlightWatch::Impl::write_down(std::string const& why) {
    auto dump = recorder->dump();
    dump.rank = options.rank;
    dump.world_size = options.world_size;
    dump.attempt = options.attempt;
    dump.why = why;
    // A disk that is full must not hide why the rank ends.
    [[maybe_unused]] auto const written = protocol::write_flight(options.run_dir, dump);
}

/// Whom the ranks wait for, when all have written or some will not.
std::string FlightWatch::Impl::story() {
    if (!reads()) return "";
    auto const until = Clock::now() + ticks(explain_limit_s(options.timeout_s));
    auto const all = static_cast<std::size_t>(options.world_size);
    std::vector<protocol::FlightDump> dumps;
    while (true) {
        dumps = protocol::read_flights(options.run_dir, options.attempt, options.world_size);
        if (dumps.size() == all || Clock::now() >= until) break;
        std::this_thread::sleep_for(kPollPeers);
    }
    auto const finding = protocol::find_stall(dumps);
    return finding ? protocol::describe(*finding) : "";
}

int FlightWatch::Impl::period_ms() const {
    return static_cast<int>(std::clamp(options.timeout_s * 1000 / 40, 20.0, 1000.0));
}

/// A backend has its own limit, which comes first; this one holds for all of them.
void FlightWatch::Impl::look() {
    std::unique_lock lock(mutex);
    if (gone_by) {
        if (Clock::now() < *gone_by) return;
        gone_by.reset();
        Error const why = *failed;
        lock.unlock();
        return options.end(why);
    }
    lock.unlock();
    auto const oldest = recorder->oldest();
    if (!oldest) return;
    Seconds const waited = Clock::now() - *oldest;
    if (waited.count() < 1.1 * options.timeout_s + 0.2) return;
    std::string text = fmt::format("a collective took longer than {:g} s", options.timeout_s);
    write_down(text);
    std::string const why = story();
    if (!why.empty()) text += ": " + why;
    options.end(Error{Errc::unreachable, std::move(text)});
}

void FlightWatch::Impl::run(std::stop_token const& stop) {
    while (!stop.stop_requested()) {
        struct pollfd request {
            .fd = asked.get(), .events = POLLIN, .revents = 0
        };
        std::uint64_t what = 0;
        if (::poll(&request, 1, period_ms()) > 0 &&
            ::read(asked.get(), &what, sizeof what) == static_cast<ssize_t>(sizeof what)) {
            if (stop.stop_requested()) return;
            write_down(what >= kEnds ? "ended by a signal" : "asked for");
            std::uint64_t const one = 1;
            [[maybe_unused]] auto const written = ::write(answered.get(), &one, sizeof one);
        }
        look();
    }
}

FlightWatch::FlightWatch(Options options) : impl_(std::make_unique<Impl>(std::move(options))) {
    protocol::forget_flight(impl_->options.run_dir, impl_->options.rank, impl_->options.attempt);
    impl_->thread = std::jthread([this](std::stop_token const& stop) { impl_->run(stop); });
    flight_signals_wake(impl_->asked.get(), impl_->answered.get());
}

FlightWatch::~FlightWatch() {
    flight_signals_wake(-1, -1);
    impl_->thread.request_stop();
    std::uint64_t const one = 1;
    [[maybe_unused]] auto const written = ::write(impl_->asked.get(), &one, sizeof one);
}

std::shared_ptr<FlightRecorder> const& FlightWatch::recorder() const {
    return impl_->recorder;
}

void FlightWatch::Impl::ends_with(Error const& error, double within_s) {
    std::scoped_lock const lock(mutex);
    failed = error;
    gone_by = Clock::now() + ticks(within_s);
}

Error FlightWatch::explain(Error error) {
    if (impl_->options.world_size == 1) return error;
    double const limit_s = explain_limit_s(impl_->options.timeout_s);
    impl_->ends_with(error, 2 * limit_s + 1);  // nothing here may block, but a file system may
    impl_->write_down(error.message);
    if (error.code == Errc::unreachable || error.code == Errc::timed_out) {
        std::string const why = impl_->story();
        if (!why.empty()) error.message = why + " (" + error.message + ")";
    }
    impl_->ends_with(error, std::max(0.5, limit_s));
    return error;
}

}  // namespace osora::worker
