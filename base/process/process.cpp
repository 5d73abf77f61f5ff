// fork and exec. Between the two only async-signal-safe calls: all memory is prepared before. A
// failed exec is reported through a pipe that a successful exec closes.
#include "base/process/process.hpp"

#include "base/check.hpp"
#include "base/files/files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/close_range.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

extern "C" {  // glibc 2.36 lacks this itself
#include <sys/pidfd.h>
}

namespace osora {
namespace {

enum class Stage { descriptors, directory, session, exec };

struct Failure {
    Stage stage;
    int error;
};

/// Everything that the child needs, in the parent's memory.
struct Image {
    std::vector<char const*> argv;
    std::vector<char const*> envp;
    std::vector<std::pair<int, int>> descriptors;  // the report pipe is the last one
    char const* program;
    char const* directory;  // nullptr: unchanged
    int death_signal;
    bool new_session;
    pid_t parent;
    std::vector<cpu_set_t> cpus;  // one mask; empty: the parent's
};

std::vector<char const*> pointers(std::vector<std::string> const& texts) {
    std::vector<char const*> result;
    for (std::string const& text : texts) result.push_back(text.c_str());
    result.push_back(nullptr);
    return result;
}

std::vector<cpu_set_t> mask_of(std::vector<int> const& cpus) {
    int const last = cpus.empty() ? -1 : *std::ranges::max_element(cpus);
    std::vector<cpu_set_t> mask(static_cast<std::size_t>(last / CPU_SETSIZE + 1));
    if (last < 0) return {};
    for (int const cpu : cpus) {
        if (cpu >= 0) CPU_SET_S(cpu, mask.size() * sizeof(cpu_set_t), mask.data());
    }
    return mask;
}

[[noreturn]] void give_up(int report, Stage stage) {
    Failure const failure{stage, errno};
    [[maybe_unused]] auto const wrote = ::write(report, &failure, sizeof failure);
    ::_exit(127);
}

/// Moves every descriptor to its number; the sources are first moved out of the range of the
/// targets. Returns the new number of the report pipe.
int place_descriptors(std::vector<std::pair<int, int>>& descriptors, int report) {
    int above = 3;
    for (auto const& each : descriptors) above = std::max(above, each.second + 1);
    for (auto& each : descriptors) {
        each.first = ::fcntl(each.first, F_DUPFD_CLOEXEC, above);
        if (each.first < 0) give_up(report, Stage::descriptors);
    }
    int const moved = ::fcntl(report, F_DUPFD_CLOEXEC, above);
    if (moved < 0) give_up(report, Stage::descriptors);
    for (auto const& each : descriptors) {
        if (::dup2(each.first, each.second) < 0) give_up(moved, Stage::descriptors);
    }
    return moved;
}

void close_others(Image const& image, int report) {
    int above = 3;
    for (auto const& each : image.descriptors) above = std::max(above, each.second + 1);
    for (int fd = 3; fd < above; ++fd) {
        bool const wanted = std::any_of(image.descriptors.begin(), image.descriptors.end(),
                                        [fd](auto const& each) { return each.second == fd; });
        if (!wanted) ::close(fd);
    }
    // From here on exec closes everything, the report pipe included.
    if (::syscall(SYS_close_range, above, ~0u, CLOSE_RANGE_CLOEXEC) != 0) {
        for (int fd = above; fd < 1024; ++fd) {
            if (fd != report) ::close(fd);
        }
    }
}

void reset_signals() {
    struct sigaction plain {};
    plain.sa_handler = SIG_DFL;
    for (int signal = 1; signal < NSIG; ++signal) ::sigaction(signal, &plain, nullptr);
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

[[noreturn]] void run_child(Image& image, int report) {
    report = place_descriptors(image.descriptors, report);
    close_others(image, report);
    bool const grouped = image.new_session ? ::setsid() >= 0 : ::setpgid(0, 0) == 0;
    if (!grouped) give_up(report, Stage::session);
    if (image.death_signal != 0) {
        ::prctl(PR_SET_PDEATHSIG, image.death_signal);
        if (::getppid() != image.parent) ::_exit(127);  // it died before the line above
    }
    if (image.directory != nullptr && ::chdir(image.directory) != 0) {
        give_up(report, Stage::directory);
    }
    reset_signals();
    if (!image.cpus.empty()) {  // best effort: a refusal by the kernel is ignored
        ::sched_setaffinity(0, image.cpus.size() * sizeof(cpu_set_t), image.cpus.data());
    }
    ::execve(image.program, const_cast<char* const*>(image.argv.data()),
             const_cast<char* const*>(image.envp.data()));
    give_up(report, Stage::exec);
}

Error to_error(Failure const& failure, SpawnOptions const& options) {
    switch (failure.stage) {
        case Stage::directory:
            return file_error(failure.error, "enter folder", options.working_directory);
        case Stage::exec:
            return file_error(failure.error, "start", options.program);
        case Stage::descriptors:
            return file_error(failure.error, "place descriptors", options.program);
        case Stage::session:
            break;
    }
    return file_error(failure.error, "make process group", options.program);
}

/// The child's report before its exec; nothing after a successful one.
Result<void> read_report(int pipe, SpawnOptions const& options) {
    Failure failure{};
    ssize_t got = -1;
    do {
        got = ::read(pipe, &failure, sizeof failure);
    } while (got < 0 && errno == EINTR);
    if (got == sizeof failure) return to_error(failure, options);
    return {};
}

}  // namespace

Result<Child> spawn(SpawnOptions const& options) {
    std::vector<std::string> words{options.program.string()};
    words.insert(words.end(), options.arguments.begin(), options.arguments.end());
    Descriptor const null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    Image image{.argv = pointers(words),
                .envp = pointers(options.environment),
                .descriptors = options.descriptors,
                .program = options.program.c_str(),
                .directory =
                    options.working_directory.empty() ? nullptr : options.working_directory.c_str(),
                .death_signal = options.death_signal,
                .new_session = options.new_session,
                .parent = ::getpid(),
                .cpus = mask_of(options.cpus)};
    bool const has_input = std::ranges::any_of(
        options.descriptors, [](auto const& each) { return each.second == STDIN_FILENO; });
    if (!has_input) image.descriptors.emplace_back(null.get(), STDIN_FILENO);
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) return file_error(errno, "pipe", options.program);
    Descriptor const report(ends[0]);
    Descriptor child_report(ends[1]);

    pid_t const pid = ::fork();
    if (pid < 0) return file_error(errno, "fork", options.program);
    if (pid == 0) run_child(image, child_report.get());
    child_report.reset();
    Child child{.id = {.pid = pid, .start_ticks = 0}, .pidfd = Descriptor(::pidfd_open(pid, 0))};
    if (auto const started = read_report(report.get(), options); started.has_error()) {
        (void)reap(child);
        return started.error();
    }
    if (!child.pidfd.is_open()) {
        int const error = errno;
        ::kill(pid, SIGKILL);
        (void)reap(child);
        return file_error(error, "pidfd_open", options.program);
    }
    if (auto const id = process_id_of(pid); id.has_value()) child.id = *id;
    return child;
}

ExitStatus reap(Child const& child) {
    int status = 0;
    struct rusage usage {};
    while (::wait4(child.id.pid, &status, 0, &usage) < 0) OSORA_CHECK_EQ(errno, EINTR);
    ExitStatus result;
    if (WIFSIGNALED(status)) result.signal = WTERMSIG(status);
    if (WIFEXITED(status)) result.exit_code = WEXITSTATUS(status);
    result.peak_rss_bytes = static_cast<std::int64_t>(usage.ru_maxrss) * 1024;
    return result;
}

bool has_ended(Child const& child) {
    siginfo_t info{};
    int const rc =
        ::waitid(P_PID, static_cast<id_t>(child.id.pid), &info, WEXITED | WNOHANG | WNOWAIT);
    return rc == 0 && info.si_pid == child.id.pid;
}

void signal_group(Child const& child, int signal) {
    ::kill(-child.id.pid, signal);
}

Descriptor open_process(ProcessId const& process) {
    if (process.pid <= 0) return {};
    Descriptor handle(::pidfd_open(process.pid, 0));
    // While the handle is open it refers to the process that had the number when it was opened.
    if (handle.is_open() && !is_alive(process)) handle.reset();
    return handle;
}

bool signal_process(ProcessId const& process, int signal) {
    Descriptor const handle = open_process(process);
    return handle.is_open() && ::pidfd_send_signal(handle.get(), signal, nullptr, 0) == 0;
}

std::string describe(ExitStatus const& status) {
    if (status.signal == 0) return fmt::format("exited with {}", status.exit_code);
    return fmt::format("was killed by signal {} ({})", status.signal, ::strsignal(status.signal));
}

}  // namespace osora
