// inotify reports when a log has grown, the loop when a pipe holds a record; after each look the
// reader pauses, so that a program that prints much costs a bounded share of the agent's time. What
// is too much to read is skipped: steps are for people, and the log itself stays complete.
#include "daemon/agent/step_watch.hpp"

#include "base/files/files.hpp"
#include "daemon/net/frame_connection.hpp"
#include "plan/steps/step_finder.hpp"

#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>

#include <array>
#include <cerrno>
#include <cstdio>
#include <limits>
#include <vector>

namespace osora::daemon {
namespace {

using boost::asio::posix::stream_descriptor;

constexpr auto kRest = std::chrono::milliseconds(10);
constexpr auto kPoll = std::chrono::milliseconds(100);  // without inotify

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

/// Reads a descriptor that somebody else owns.
class PipeSource final : public ByteSource {
public:
    explicit PipeSource(int fd) : fd_(fd) {}
    /// Other holders of the descriptor may write for ever: at most this much is read.
    void end_after(std::int64_t bytes) { left_ = bytes; }
    [[nodiscard]] bool is_closed() const { return closed_; }

    std::size_t read(std::span<char> into) override {
        auto const most = std::min<std::int64_t>(std::ssize(into), left_);
        if (closed_ || most == 0) return 0;
        ssize_t const got = ::read(fd_, into.data(), static_cast<std::size_t>(most));
        if (got > 0) left_ -= got;
        closed_ = got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR);
        return static_cast<std::size_t>(std::max<ssize_t>(got, 0));
    }
    std::int64_t behind() override { return 0; }
    void skip(std::int64_t) override {}

private:
    int fd_;
    std::int64_t left_ = std::numeric_limits<std::int64_t>::max();
    bool closed_ = false;
};

class LogSource final : public ByteSource {
public:
    explicit LogSource(std::filesystem::path const& path)
        : file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
    [[nodiscard]] bool is_open() const { return file_.is_open(); }
    void end_here() { end_ = size(); }
    [[nodiscard]] std::int64_t position() const { return at_; }

    std::size_t read(std::span<char> into) override {
        auto const most = std::min<std::int64_t>(std::ssize(into), end_ - at_);
        if (most <= 0) return 0;
        ssize_t const got = ::pread(file_.get(), into.data(), static_cast<std::size_t>(most), at_);
        at_ += std::max<ssize_t>(got, 0);
        return static_cast<std::size_t>(std::max<ssize_t>(got, 0));
    }
    std::int64_t behind() override {
        std::int64_t const end = std::min(size(), end_);
        at_ = std::min(at_, end);  // the file has become shorter
        return end - at_;
    }
    void skip(std::int64_t bytes) override { at_ += bytes; }

private:
    [[nodiscard]] std::int64_t size() const {
        struct stat info {};
        return ::fstat(file_.get(), &info) == 0 ? info.st_size : 0;
    }
    Descriptor file_;
    std::int64_t at_ = 0, end_ = std::numeric_limits<std::int64_t>::max();
};

constexpr std::int64_t kRecordsAtEnd = 1 << 20;  // what a pipe holds

}  // namespace

struct StepWatch::Followed {
    Followed(TaskGroup& tasks, Rank rank, OnInput input)
        : self(std::move(rank)), on_input(std::move(input)), pipe(tasks.executor()) {
        ::fcntl(self.records.get(), F_SETFL, O_NONBLOCK);
        pipe.assign(self.records.release());
    }
    void open(StepIntake::Finder finder, bool from_one) {
        records = std::make_shared<PipeSource>(pipe.native_handle());
        if (finder.find) log = std::make_shared<LogSource>(self.output);
        if (log && !log->is_open()) log.reset();
        StepIntake::Sources sources{.records = records,
                                    .output = log,
                                    .finder = std::move(finder),
                                    .from_one = from_one,
                                    .from_start = self.attempt == 0};
        intake.emplace(std::move(sources), [this](SaidStep said) { tell(std::move(said)); });
    }
    void tell(SaidStep said) {
        stepped = true;
        auto const bytes = self.pid > 0 ? resident_bytes(self.pid) : 0;
        if (bytes > 0 && said.said.insert("rss_bytes").second) said.metrics.rss_bytes = bytes;
        on_input(WorkerStepped{self.attempt, self.rank, std::move(said)});
    }

    Rank self;
    OnInput on_input;
    stream_descriptor pipe;
    std::optional<StepIntake> intake;
    std::shared_ptr<PipeSource> records;
    std::shared_ptr<LogSource> log;  // none: the log is not read
    LeftOut reported;
    bool stepped = false;       // it has reported a step
    std::int64_t printed = 0;   // bytes of its log at the last report
    MonotonicTime print_due{};  // when the next report is due
};

StepWatch::StepWatch(TaskGroup& tasks, Logger& log, OnInput on_input)
    : tasks_(tasks), log_(log), on_input_(std::move(on_input)), waiting_(tasks.executor()) {}
StepWatch::~StepWatch() = default;

void StepWatch::start_following() {
    if (std::exchange(following_, true)) return;
    changes_.reset(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
    if (!changes_.is_open()) log_.info("logs are polled", {{"why", "no inotify"}});
    if (changes_.is_open()) tasks_.spawn("growing logs", await_changes());
    tasks_.spawn("steps of ranks", follow());
}

void StepWatch::add(Rank rank, StepIntake::Finder finder) {
    auto const followed = std::make_shared<Followed>(tasks_, std::move(rank), on_input_);
    followed->open(std::move(finder), from_one_.contains(followed->self.rank));
    ranks_[followed->self.pid] = followed;
    start_following();
    if (changes_.is_open() && followed->log) {
        ::inotify_add_watch(changes_.get(), followed->self.output.c_str(), IN_MODIFY);
    }
    tasks_.spawn("step records", await_records(followed));
    wake();
}

void StepWatch::wake() {
    woken_ = true;
    waiting_.cancel();
}

boost::asio::awaitable<void> StepWatch::await_changes() {
    stream_descriptor changes(tasks_.executor());
    changes.assign(::dup(changes_.get()));
    boost::asio::steady_timer rest(tasks_.executor());
    std::array<char, 1 << 12> ignored{};
    while (true) {
        co_await changes.async_wait(stream_descriptor::wait_read, kToken);
        for (int i = 0; i < 16 && ::read(changes_.get(), ignored.data(), ignored.size()) > 0;) ++i;
        wake();
        rest.expires_after(kRest);
        co_await rest.async_wait(kToken);
    }
}

boost::asio::awaitable<void> StepWatch::await_records(std::shared_ptr<Followed> rank) {
    boost::asio::steady_timer rest(tasks_.executor());
    while (rank->pipe.is_open() && !rank->records->is_closed()) {
        auto const [error] = co_await rank->pipe.async_wait(stream_descriptor::wait_read, kToken);
        if (error) break;
        wake();
        rest.expires_after(kRest);  // until the records have been read
        co_await rest.async_wait(kToken);
    }
}

/// Whether there may be more to read.
bool StepWatch::look_once() {
    std::vector<std::shared_ptr<Followed>> held;
    std::vector<StepIntake*> intakes;
    for (auto const& [pid, rank] : ranks_) {
        held.push_back(rank);
        intakes.push_back(&*rank->intake);
    }
    ReadBudget budget(monotonic);
    bool const more = look(intakes, looks_++, budget);
    for (auto const& rank : held) {
        tell_left_out(*rank);
        tell_output(*rank);
    }
    return more;
}

void StepWatch::tell_left_out(Followed& rank) {
    LeftOut const now = rank.intake->left_out();
    StepsLeftOut const since{rank.self.attempt, rank.self.rank, now.bytes - rank.reported.bytes,
                             now.steps - rank.reported.steps};
    rank.reported = now;
    if (since.bytes > 0 || since.steps > 0) on_input_(since);
}

/// Rarely, and only for a program that reports no steps.
void StepWatch::tell_output(Followed& rank) {
    if (rank.stepped || !rank.log || rank.log->position() == rank.printed) return;
    MonotonicTime const now = monotonic();
    if (now < rank.print_due) return;
    rank.printed = rank.log->position();
    rank.print_due = now + std::chrono::minutes(1);
    on_input_(OutputRead{rank.self.attempt, rank.self.rank});
}

boost::asio::awaitable<void> StepWatch::follow() {
    boost::asio::steady_timer rest(tasks_.executor());
    bool more = true;
    while (true) {
        while (!more && !woken_) {
            waiting_.expires_after(changes_.is_open() ? std::chrono::hours(1) : kPoll);
            co_await waiting_.async_wait(kToken);
            more = !changes_.is_open();
        }
        woken_ = false;
        more = look_once();
        rest.expires_after(kRest);
        co_await rest.async_wait(kToken);
    }
}

boost::asio::awaitable<void> StepWatch::finish(int pid) {
    auto const found = ranks_.find(pid);
    if (found == ranks_.end()) co_return;
    auto const rank = found->second;
    ranks_.erase(found);  // a log that no process writes to causes no events
    rank->self.pid = 0;
    rank->records->end_after(kRecordsAtEnd);
    if (rank->log) rank->log->end_here();
    ++finishing_;
    auto const executor = tasks_.executor();
    for (bool more = true; more;) {
        ReadBudget budget(monotonic, ReadBudget::kBytes, ReadBudget::kTime / finishing_);
        std::array<StepIntake*, 1> const alone{&*rank->intake};
        more = look(alone, 0, budget);
        if (more) co_await boost::asio::post(executor, kToken);
    }
    --finishing_;
    rank->intake->end(monotonic());
    if (rank->intake->counts_from_one()) from_one_.insert(rank->self.rank);
    tell_left_out(*rank);
    rank->pipe.close();
}

Result<StepIntake::Finder> step_finder(std::string const& pattern) {
    if (pattern == plan::kStepPatternNone) return StepIntake::Finder{.find = {}};
    if (pattern == plan::kStepPatternAuto) {
        auto const finder = std::make_shared<plan::StepFinder>();
        return StepIntake::Finder{
            .find = [finder](std::string_view line) { return finder->find(line); },
            .may_be = [finder](std::string_view line) { return finder->may_be(line); },
            .end = [finder] { return finder->end(); },
            .earlier = [finder] { return finder->earlier(); }};
    }
    auto compiled = plan::StepPattern::make(pattern);
    if (compiled.has_error()) return std::move(compiled).error().in("worker.step_pattern");
    auto const match = [compiled = std::move(*compiled)](std::string_view line) {
        return compiled.match(line);
    };
    auto const has_digit = [](std::string_view line) {
        return line.find_first_of("0123456789") != std::string_view::npos;
    };
    return StepIntake::Finder{.find = match, .may_be = has_digit};
}

}  // namespace osora::daemon
