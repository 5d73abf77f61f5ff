// inotify says when a log has grown; after each look the reader rests for a moment, so that a
// chatty program costs a bounded number of looks. What is too much to read is skipped: steps are
// for people, the log itself is whole.
#include "daemon/step_watch.hpp"

#include "base/files.hpp"
#include "daemon/exec_steps.hpp"
#include "daemon/frame_connection.hpp"
#include "daemon/line_splitter.hpp"

#include <fcntl.h>
#include <sys/inotify.h>
#include <unistd.h>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include <array>
#include <cstdio>

namespace osora::daemon {
namespace {

constexpr auto kRest = std::chrono::milliseconds(10);
constexpr auto kPoll = std::chrono::milliseconds(100);  // without inotify
constexpr off_t kBehindMax = 4 << 20;                   // bytes of a log that are caught up with

MonotonicTime monotonic() {
    return std::chrono::steady_clock::now().time_since_epoch();
}

std::int64_t resident_bytes(int pid) {
    auto const text = read_file("/proc/" + std::to_string(pid) + "/statm", 256);
    long long total = 0, resident = 0;
    if (text.has_error() || std::sscanf(text->c_str(), "%lld %lld", &total, &resident) != 2) {
        return 0;
    }
    return resident * ::sysconf(_SC_PAGESIZE);
}

}  // namespace

struct StepWatch::Followed {
    Followed(TaskGroup& tasks, Rank rank, FindStep find_step, OnStep report)
        : self(std::move(rank)),
          find(std::move(find_step)),
          on_step(std::move(report)),
          records(tasks.executor()) {
        if (find) output.reset(::open(self.output.c_str(), O_RDONLY | O_CLOEXEC));
        ::fcntl(self.records.get(), F_SETFL, O_NONBLOCK);
        records.assign(self.records.release());
    }

    void take(std::optional<plan::StepFigures> const& figures, StepSource source) {
        if (!figures) return;
        auto said = steps.take(*figures, source, monotonic());
        if (!said) return;
        if (auto const bytes = resident_bytes(self.pid);
            bytes > 0 && said->said.insert("rss_bytes").second) {
            said->metrics.rss_bytes = bytes;
        }
        on_step(WorkerStepped{self.epoch, self.rank, std::move(*said)});
    }

    /// Reads what the pipe holds; false when its last writer is gone.
    bool read_records() {
        std::array<char, 1 << 14> buffer{};
        while (records.is_open()) {
            ssize_t const got = ::read(records.native_handle(), buffer.data(), buffer.size());
            if (got < 0 && errno == EINTR) continue;
            if (got <= 0) return got < 0 && errno == EAGAIN;
            auto const text = std::string_view(buffer.data(), static_cast<std::size_t>(got));
            record_lines.feed(text, [this](std::string_view line) {
                auto const figures = parse_step_record(line);
                if (figures.has_value()) take(*figures, StepSource::descriptor);
            });
        }
        return false;
    }

    void read_output() {
        read_records();  // said before a line that is there now
        if (!output.is_open()) return;
        off_t const at = ::lseek(output.get(), 0, SEEK_CUR);
        off_t const end = ::lseek(output.get(), 0, SEEK_END);
        if (end - at <= kBehindMax) ::lseek(output.get(), at, SEEK_SET);
        std::array<char, 1 << 16> buffer{};
        while (true) {
            ssize_t const got = ::read(output.get(), buffer.data(), buffer.size());
            if (got < 0 && errno == EINTR) continue;
            if (got <= 0) return;
            auto const text = std::string_view(buffer.data(), static_cast<std::size_t>(got));
            output_lines.feed(
                text, [this](std::string_view line) { take(find(line), StepSource::output); });
        }
    }

    Rank self;
    FindStep find;
    OnStep on_step;
    ExecSteps steps;
    boost::asio::posix::stream_descriptor records;
    LineSplitter record_lines, output_lines;
    Descriptor output;
};

StepWatch::StepWatch(TaskGroup& tasks, Logger& log, OnStep on_step)
    : tasks_(tasks), log_(log), on_step_(std::move(on_step)) {}
StepWatch::~StepWatch() = default;

void StepWatch::start_following() {
    if (std::exchange(following_, true)) return;
    changes_.reset(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
    if (!changes_.is_open()) log_.info("logs are polled", {{"why", "no inotify"}});
    tasks_.spawn("steps of ranks", follow_outputs());
}

void StepWatch::add(Rank rank, FindStep find) {
    auto const followed =
        std::make_shared<Followed>(tasks_, std::move(rank), std::move(find), on_step_);
    ranks_[followed->self.pid] = followed;
    start_following();
    if (changes_.is_open() && followed->output.is_open()) {
        ::inotify_add_watch(changes_.get(), followed->self.output.c_str(), IN_MODIFY);
    }
    tasks_.spawn("step records", follow_records(followed));
}

void StepWatch::finish(int pid) {
    auto const found = ranks_.find(pid);
    if (found == ranks_.end()) return;
    auto const rank = found->second;
    rank->read_records();
    rank->read_output();
    rank->records.close();
    ranks_.erase(found);  // a log that nobody writes to causes no events
}

boost::asio::awaitable<void> StepWatch::follow_records(std::shared_ptr<Followed> rank) {
    while (rank->records.is_open() && rank->read_records()) {
        auto const [error] = co_await rank->records.async_wait(
            boost::asio::posix::stream_descriptor::wait_read, kToken);
        if (error) break;
    }
}

boost::asio::awaitable<void> StepWatch::follow_outputs() {
    boost::asio::steady_timer pause(tasks_.executor());
    boost::asio::posix::stream_descriptor changes(tasks_.executor());
    bool const told = changes_.is_open();
    if (told) changes.assign(::dup(changes_.get()));
    std::array<char, 1 << 12> ignored{};
    while (true) {
        if (told) {
            co_await changes.async_wait(boost::asio::posix::stream_descriptor::wait_read, kToken);
            while (::read(changes_.get(), ignored.data(), ignored.size()) > 0) {}
        }
        for (auto const& [pid, rank] : ranks_) rank->read_output();
        pause.expires_after(told ? kRest : kPoll);
        co_await pause.async_wait(kToken);
    }
}

Result<StepWatch::FindStep> step_finder(std::string const& pattern) {
    if (pattern == plan::kStepPatternNone) return StepWatch::FindStep();
    if (pattern == plan::kStepPatternAuto) return StepWatch::FindStep(find_step);
    auto compiled = plan::StepPattern::make(pattern);
    if (compiled.has_error()) return std::move(compiled).error().in("worker.step_pattern");
    return StepWatch::FindStep(
        [compiled = std::move(*compiled)](std::string_view line) { return compiled.match(line); });
}

}  // namespace osora::daemon
