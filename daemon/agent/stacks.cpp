// All from /proc. Threads are asked for their stacks one after the other, since they append to one
// file.
#include "daemon/agent/stacks.hpp"

#include "base/files/files.hpp"
#include "base/process/descendants.hpp"
#include "base/process/process.hpp"
#include "base/process/stack_signal.hpp"
#include "base/text/seconds.hpp"
#include "daemon/net/frame_connection.hpp"

#include <cxxabi.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <boost/asio/steady_timer.hpp>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <memory>

namespace osora::daemon {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

// Shares of the time that the controller waits, 4 s unless the run file says more:
constexpr double kThreadShare = 0.025;   // for a thread that does not answer
constexpr double kStacksShare = 0.225;   // for the stacks of all ranks
constexpr double kRecorderShare = 0.5;   // after the stacks
constexpr std::size_t kThreadsMax = 64;  // of a process
constexpr std::int64_t kProcBytesMax = 1 << 16;

std::string content_of(fs::path const& path) {
    auto text = read_file(path, kProcBytesMax);
    if (text.has_error()) return "";
    while (text->ends_with('\n')) text->pop_back();
    return *text;
}

Clock::duration seconds(double count) {
    return duration_of<Clock::duration>(count);
}

std::vector<int> threads_of(int pid) {
    std::vector<int> tids;
    std::error_code error;
    fs::directory_iterator tasks(fmt::format("/proc/{}/task", pid), error);
    for (; !error && tasks != fs::directory_iterator(); tasks.increment(error)) {
        std::string const name = tasks->path().filename();
        int tid = 0;
        auto const* const end = name.data() + name.size();
        if (std::from_chars(name.data(), end, tid).ptr == end) tids.push_back(tid);
    }
    std::ranges::sort(tids);
    if (tids.size() > kThreadsMax) tids.resize(kThreadsMax);
    return tids;
}

/// The letter of /proc/.../stat; the name in it may hold anything.
char letter_of(fs::path const& task) {
    std::string const stat = content_of(task / "stat");
    auto const behind = stat.rfind(')');
    return behind != std::string::npos && behind + 2 < stat.size() ? stat[behind + 2] : '?';
}

std::string state_of(fs::path const& task) {
    return state_text(letter_of(task), content_of(task / "wchan"));
}

bool catches(int pid, int signal) {
    std::string const status = content_of(fmt::format("/proc/{}/status", pid));
    auto const at = status.find("SigCgt:");
    if (at == std::string::npos) return false;
    std::uint64_t const mask = std::strtoull(status.c_str() + at + 7, nullptr, 16);
    return (mask >> (signal - 1) & 1) != 0;
}

std::string describe_process(int pid) {
    fs::path const proc = fmt::format("/proc/{}", pid);
    std::string command = content_of(proc / "cmdline");
    std::ranges::replace(command, '\0', ' ');
    std::string text = fmt::format("process {}: {}\n", pid, command.substr(0, 500));
    for (int const tid : threads_of(pid)) {
        fs::path const task = proc / "task" / std::to_string(tid);
        text += fmt::format("  thread {} {}: {}", tid, content_of(task / "comm"), state_of(task));
        std::string const call = content_of(task / "syscall");
        if (!call.empty()) text += fmt::format(" (syscall {})", call.substr(0, call.find(' ')));
        text += "\n";
        std::string const kernel = content_of(task / "stack");
        for (std::size_t at = 0; at < kernel.size();) {
            auto const end = std::min(kernel.find('\n', at), kernel.size());
            text += "    " + kernel.substr(at, end - at) + "\n";
            at = end + 1;
        }
    }
    return text;
}

std::size_t ends_in(fs::path const& file) {
    auto const text = read_file(file, 64 << 20);
    if (text.has_error()) return 0;
    std::size_t count = text->starts_with("end\n") ? 1 : 0;
    for (auto at = text->find("\nend\n"); at != std::string::npos;
         at = text->find("\nend\n", at + 1))
        ++count;
    return count;
}

/// NCCL's watchdog dumps its recorder when a process writes to this pipe. False: nothing reads it.
bool ask_flight_recorder(fs::path const& folder, int rank) {
    auto const pipe = folder / fmt::format("{}{}.pipe", kFlightRequest, rank);
    Descriptor const end(::open(pipe.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
    return end.is_open() && ::write(end.get(), "1\n", 2) == 2;
}

/// Waits until the recorders of `ranks` are there, or `deadline`.
boost::asio::awaitable<void> await_flight_recorders(std::vector<int> ranks, fs::path folder,
                                                    Clock::time_point deadline) {
    boost::asio::steady_timer timer(co_await boost::asio::this_coro::executor);
    auto const is_there = [&folder](int rank) {
        std::error_code error;
        return fs::file_size(folder / fmt::format("{}{}", kFlightFile, rank), error) > 0 && !error;
    };
    while (!std::ranges::all_of(ranks, is_there) && Clock::now() < deadline) {
        timer.expires_after(std::chrono::milliseconds(20));
        co_await timer.async_wait(kToken);
    }
}

/// The threads of `pid` append their stacks to `file`, one after the other, until `deadline`.
boost::asio::awaitable<void> ask_threads(int pid, fs::path file, Clock::time_point deadline,
                                         Clock::duration thread_limit) {
    boost::asio::steady_timer timer(co_await boost::asio::this_coro::executor);
    std::size_t wanted = 0;
    auto const tids = threads_of(pid);
    for (int const tid : tids) {
        if (Clock::now() >= deadline) break;
        if (::syscall(SYS_tgkill, pid, tid, stack_signal()) != 0) continue;
        ++wanted;
        auto const limit = std::min(deadline, Clock::now() + thread_limit);
        while (ends_in(file) < wanted && Clock::now() < limit) {
            timer.expires_after(std::chrono::milliseconds(2));
            co_await timer.async_wait(kToken);
        }
        wanted = ends_in(file);  // no second wait for a thread that does not answer
    }
}

void append_stacks(std::string& text, fs::path const& file) {
    auto const stacks = read_file(file, 64 << 20);
    if (stacks.has_error()) return;
    for (std::size_t at = 0; at < stacks->size();) {
        auto const end = std::min(stacks->find('\n', at), stacks->size());
        std::string const line = stacks->substr(at, end - at);
        if (line != "end") {
            text += (line.starts_with("thread ") ? "stack of " : "    ") + demangled(line) + "\n";
        }
        at = end + 1;
    }
    std::error_code ignored;
    fs::remove(file, ignored);
}

}  // namespace

fs::path stacks_folder(fs::path const& run_dir, int attempt) {
    return run_dir / "stacks" / std::to_string(attempt);
}

std::string state_text(char letter, std::string_view wchan) {
    bool const known = !wchan.empty() && wchan != "0";
    wchan = wchan.substr(0, wchan.find('.'));  // poll_schedule_timeout.constprop.0
    switch (letter) {
        case 'T':
        case 't':
            return "is stopped by a signal";
        case 'R':
            return "runs";
        case 'D':
            return known ? fmt::format("is stuck in the kernel in {}", wchan)
                         : "is stuck in the kernel (disk, network file system or driver)";
        case 'Z':
        case 'X':
            return "has ended";
        default:
            return known ? fmt::format("waits in {}", wchan) : "sleeps";
    }
}

std::string demangled(std::string_view line) {
    auto const begin = line.find('(');
    auto const end = line.find_first_of("+)", begin == std::string_view::npos ? 0 : begin);
    if (begin == std::string_view::npos || end == std::string_view::npos) return std::string(line);
    std::string const name(line.substr(begin + 1, end - begin - 1));
    int status = 0;
    std::unique_ptr<char, decltype(&std::free)> const readable(
        abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), &std::free);
    if (status != 0 || !readable) return std::string(line);
    return fmt::format("{}{}{}", line.substr(0, begin + 1), readable.get(), line.substr(end));
}

boost::asio::awaitable<std::vector<protocol::RankState>> take_stacks(
    std::vector<StackSubject> subjects, fs::path folder, double limit_s) {
    std::error_code ignored;
    fs::create_directories(folder, ignored);
    auto const deadline = Clock::now() + seconds(kStacksShare * limit_s);
    auto const thread_limit = seconds(kThreadShare * limit_s);
    std::vector<protocol::RankState> states;
    std::vector<std::string> texts;
    std::vector<int> recorded;
    // The state seen from outside comes first: asking a thread for its stack wakes it.
    for (StackSubject const& each : subjects) {
        if (ask_flight_recorder(folder, each.rank)) recorded.push_back(each.rank);
        // osora's own record of collectives: written long before the stacks are (docs/rfc/028).
        if (catches(each.process.pid, flight_signal()))
            signal_process(each.process, flight_signal());
        states.push_back({each.rank, state_of(fmt::format("/proc/{}", each.process.pid))});
        std::string text = describe_process(each.process.pid);
        for (ProcessId const& child : descendants_of(each.process.pid)) {
            text += describe_process(child.pid);
        }
        texts.push_back(std::move(text));
    }
    for (std::size_t i = 0; i < subjects.size(); ++i) {
        int const rank = subjects[i].rank;
        int const pid = subjects[i].process.pid;
        fs::path const own = folder / fmt::format("{}.own", rank);
        bool const answers = is_alive(subjects[i].process) && catches(pid, stack_signal()) &&
                             letter_of(fmt::format("/proc/{}", pid)) != 'T';
        if (answers) co_await ask_threads(pid, own, deadline, thread_limit);
        append_stacks(texts[i], own);
        [[maybe_unused]] auto const written =
            write_file_atomic(folder / fmt::format("{}.txt", rank), texts[i], 0600);
    }
    if (!recorded.empty()) {
        auto const until = deadline + seconds(kRecorderShare * limit_s);
        co_await await_flight_recorders(recorded, folder, until);
    }
    co_return states;
}

}  // namespace osora::daemon
