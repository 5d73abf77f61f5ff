// One poll() over the pipes and the child; a pipe that a grandchild holds open does not delay the
// end.
#include "base/process/capture.hpp"

#include "base/files/files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace osora {
namespace {

using Clock = std::chrono::steady_clock;

struct Pipe {
    Descriptor reading, writing;
};

Result<Pipe> make_pipe(std::filesystem::path const& program) {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) return file_error(errno, "pipe", program);
    return Pipe{Descriptor(ends[0]), Descriptor(ends[1])};
}

void make_nonblocking(Descriptor const& end) {
    ::fcntl(end.get(), F_SETFL, O_NONBLOCK);
}

/// Reads the available bytes; closes at the end.
void take(Descriptor& from, std::string& into) {
    std::array<char, 1 << 16> buffer{};
    while (from.is_open()) {
        ssize_t const got = ::read(from.get(), buffer.data(), buffer.size());
        if (got < 0 && errno == EINTR) continue;
        if (got < 0 && errno == EAGAIN) return;
        if (got <= 0) return from.reset(-1);
        auto const room = kCapturedBytesMax - std::min(kCapturedBytesMax, into.size());
        into.append(buffer.data(), std::min(room, static_cast<std::size_t>(got)));
    }
}

void give(Descriptor& to, std::string_view& input) {
    while (to.is_open() && !input.empty()) {
        ssize_t const wrote = ::write(to.get(), input.data(), input.size());
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote < 0 && errno == EAGAIN) return;
        if (wrote < 0) return to.reset(-1);
        input.remove_prefix(static_cast<std::size_t>(wrote));
    }
    to.reset(-1);
}

}  // namespace

Result<Captured> run_captured(SpawnOptions options, std::chrono::milliseconds limit,
                              std::string_view input) {
    OSORA_TRY(Pipe in, make_pipe(options.program));
    OSORA_TRY(Pipe out, make_pipe(options.program));
    OSORA_TRY(Pipe err, make_pipe(options.program));
    options.descriptors = {{in.reading.get(), STDIN_FILENO},
                           {out.writing.get(), STDOUT_FILENO},
                           {err.writing.get(), STDERR_FILENO}};
    OSORA_TRY(auto const child, spawn(options));
    in.reading.reset(-1);
    out.writing.reset(-1);
    err.writing.reset(-1);
    for (auto const* end : {&in.writing, &out.reading, &err.reading}) make_nonblocking(*end);
    Captured captured;
    auto const deadline = Clock::now() + limit;
    bool late = false;
    while (!has_ended(child)) {
        give(in.writing, input);
        auto const left =
            std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
        if (left.count() <= 0) {
            late = true;
            signal_group(child, SIGKILL);
            break;
        }
        std::array<pollfd, 4> waited{{{child.pidfd.get(), POLLIN, 0},
                                      {out.reading.get(), POLLIN, 0},
                                      {err.reading.get(), POLLIN, 0},
                                      {in.writing.get(), POLLOUT, 0}}};
        [[maybe_unused]] int const ready =
            ::poll(waited.data(), waited.size(), static_cast<int>(left.count()));
        take(out.reading, captured.out);
        take(err.reading, captured.err);
    }
    captured.status = reap(child);
    take(out.reading, captured.out);
    take(err.reading, captured.err);
    if (!late) return captured;
    double const seconds = std::chrono::duration<double>(limit).count();
    return Error{Errc::timed_out, fmt::format("{}: no answer within {:.3g} s",
                                              options.program.filename().string(), seconds)};
}

Result<std::filesystem::path> find_in_path(std::string_view name, std::string_view path) {
    std::string_view rest = path;
    while (!rest.empty()) {
        std::string_view const folder = rest.substr(0, rest.find(':'));
        std::filesystem::path const candidate = std::filesystem::path(folder) / name;
        std::error_code ignored;
        bool const usable = ::access(candidate.c_str(), X_OK) == 0 &&
                            std::filesystem::is_regular_file(candidate, ignored);
        if (usable && !folder.empty()) return candidate;
        rest.remove_prefix(std::min(rest.size(), folder.size() + 1));
    }
    return Error{Errc::not_found, fmt::format("{}: no such program in PATH", name)};
}

}  // namespace osora
