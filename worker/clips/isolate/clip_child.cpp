#include "worker/clips/isolate/clip_child.hpp"

#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <system_error>
#include <utility>

namespace osora::worker {
namespace {

using ChildClock = std::chrono::steady_clock;

}  // namespace

bool too_many_crashes(std::int64_t clips, std::int64_t crashed) {
    constexpr std::int64_t kFew = 5, kOneIn = 10;
    return crashed > kFew && crashed * kOneIn > clips;
}

ReaderProgram reader_program() {
    std::error_code error;
    auto const self = std::filesystem::read_symlink("/proc/self/exe", error);
    auto const beside = self.parent_path().parent_path() / "bin" / "osora-clips";
    ReaderProgram made{.environment = current_environment()};
    made.program = variable_or(made.environment, "OSORA_CLIPS", beside.string());
    return made;
}

Result<ClipChild::Answer> ClipChild::ask(std::vector<std::string_view> const& request,
                                         std::atomic<bool> const* cancel) {
    constexpr int kTries = 2;
    CrashCount& count = *options_.count;
    ++count.clips;
    std::string ended;
    for (int i = 0; i < kTries; ++i) {
        if (!child_) OSORA_TRY_VOID(start(cancel));
        auto answer = send(request, cancel);
        if (answer.has_error()) {
            end();
            return without_answer(answer.error());
        }
        if (*answer) return Answer{.texts = std::move(**answer)};
        ended = describe(end());
    }
    ++count.crashed;
    std::int64_t const clips = count.clips, crashed = count.crashed;
    if (too_many_crashes(clips, crashed)) {
        return Error{Errc::io,
                     fmt::format("{} of {} clips ended the process that decodes them, the last "
                                 "was {}: is FFmpeg damaged, or the memory too small?",
                                 crashed, clips, request.front())};
    }
    return Answer{.fault = ClipFault{.kind = "crash",
                                     .reason = "twice, the process that decoded it " + ended}};
}

Result<void> ClipChild::start(std::atomic<bool> const* cancel) {
    constexpr auto kStartMost = std::chrono::minutes(2);
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
        return Error{Errc::io, "socketpair: " + std::generic_category().message(errno)};
    }
    Descriptor own(ends[0]);
    Descriptor other(ends[1]);
    OSORA_TRY(auto started,
              spawn({.program = program_.program,
                     .arguments = options_.arguments,
                     .environment = program_.environment,
                     .descriptors = {{other.get(), STDIN_FILENO}, {other.get(), STDOUT_FILENO}}}));
    other.reset();  // so that its end is seen
    child_ = std::move(started);
    stream_ = std::move(own);
    return check_start(
        receive_texts(stream_.get(), {.until = ChildClock::now() + kStartMost, .cancel = cancel}));
}

Result<void> ClipChild::check_start(Result<std::optional<Texts>> const& said) {
    bool const ready = said.has_value() && *said && **said == Texts{"ready"};
    if (ready) return {};
    bool const cancelled = said.has_error() && said.error().code == Errc::cancelled;
    auto const status = end();
    if (cancelled) return said.error();
    return Error{Errc::io,
                 fmt::format("{} {} {}", program_.program.string(), options_.arguments.front(),
                             said.has_error() ? "does not answer" : describe(status))};
}

/// Nothing: the child has ended.
Result<std::optional<Texts>> ClipChild::send(std::vector<std::string_view> const& request,
                                             std::atomic<bool> const* cancel) {
    constexpr double kGrace_s = 30;
    auto const most = std::chrono::duration_cast<ChildClock::duration>(
        std::chrono::duration<double>(options_.deadline_s + kGrace_s));
    auto const sent = send_texts(stream_.get(), request);
    if (sent.has_error()) return std::optional<Texts>();
    return receive_texts(stream_.get(), {.until = ChildClock::now() + most, .cancel = cancel});
}

Result<ClipChild::Answer> ClipChild::without_answer(Error const& error) const {
    if (error.code == Errc::timed_out || error.code == Errc::cancelled)
        return Answer{.fault = fault_of(error, {}, options_.deadline_s)};
    return error;
}

ExitStatus ClipChild::end() {
    stream_.reset();
    if (!child_) return {};
    // After a crash it is a zombie, to which a signal does nothing.
    signal_group(*child_, SIGKILL);
    auto const status = reap(*child_);
    child_.reset();
    return status;
}

ClipWorker::ClipWorker(ReaderProgram const& program, ClipChild::Options options, ClipWork here)
    : here_(std::move(here)) {
    if (!program.program.empty()) child_.emplace(program, std::move(options));
}

Result<ClipChild::Answer> ClipWorker::ask(Texts const& request) {
    ClipChild::Answer answer;
    if (child_) {
        OSORA_TRY(answer, child_->ask({request.begin(), request.end()}, nullptr));
    } else {
        OSORA_TRY(answer.texts, here_(request));
    }
    if (answer.texts.size() == 2) {
        answer.fault = ClipFault{std::move(answer.texts[0]), std::move(answer.texts[1])};
        answer.texts.clear();
    }
    return answer;
}

Result<void> serve_clips(ClipWork const& work) {
    for (int const each : {SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2}) std::signal(each, SIG_IGN);
    OSORA_TRY_VOID(send_texts(STDOUT_FILENO, {"ready"}));
    for (;;) {
        OSORA_TRY(auto const request, receive_texts(STDIN_FILENO));
        if (!request || request->empty()) return {};
        OSORA_TRY(auto const answer, work(*request));
        OSORA_TRY_VOID(send_texts(STDOUT_FILENO, {answer.begin(), answer.end()}));
    }
}

}  // namespace osora::worker
