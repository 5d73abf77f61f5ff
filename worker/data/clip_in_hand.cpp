// The handler gets no arguments from osora: the clip is a thread's own, and the names of the file
// and its folder are in static buffers, written before the handler is installed.
#include "worker/data/clip_in_hand.hpp"

#include "worker/data/mapped_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>

namespace osora::worker {
namespace {

constexpr std::array kCrashSignals{SIGSEGV, SIGABRT, SIGBUS, SIGFPE};

struct InHand {
    char const* path = nullptr;
    ClipPart part = ClipPart::headers;
};

InHand& clip_of_thread() {
    thread_local InHand clip;
    return clip;
}

struct CrashFile {
    std::array<char, 4096> path{};  // "": none
    std::array<char, 4096> folder{};
    std::array<struct sigaction, kCrashSignals.size()> before{};
};

CrashFile& crash_file() {
    static CrashFile file;
    return file;
}

std::atomic<bool>& notes_crashes() {
    static std::atomic<bool> installed = false;
    return installed;
}

/// Where the handler runs in this thread: a stack that has overflown has no room for it.
class SignalStack {
public:
    SignalStack() {
        stack_t before{};
        bool const has_one =
            ::sigaltstack(nullptr, &before) != 0 || (before.ss_flags & SS_DISABLE) == 0;
        if (has_one) return;  // a sanitizer's
        memory_.reset(std::malloc(kBytes));
        stack_t own{};
        own.ss_sp = memory_.get();
        own.ss_size = kBytes;
        if (memory_ != nullptr && ::sigaltstack(&own, nullptr) != 0) memory_.reset();
    }
    SignalStack(SignalStack const&) = delete;
    SignalStack& operator=(SignalStack const&) = delete;
    ~SignalStack() {
        if (memory_ == nullptr) return;
        stack_t none{};
        none.ss_flags = SS_DISABLE;
        ::sigaltstack(&none, nullptr);
    }

private:
    static constexpr std::size_t kBytes = 64 << 10;  // the kernel saves up to 11 KiB of registers
    struct Free {
        void operator()(void* memory) const { std::free(memory); }
    };
    std::unique_ptr<void, Free> memory_;
};

void use_signal_stack() {
    thread_local SignalStack const stack;
    static_cast<void>(stack);
}

void put(int fd, std::string_view text) {
    while (!text.empty()) {
        ssize_t const written = ::write(fd, text.data(), text.size());
        if (written <= 0) return;
        text.remove_prefix(static_cast<std::size_t>(written));
    }
}

/// On one line and harmless for a terminal: '?' for each control character.
void put_name(int fd, std::string_view name) {
    std::array<char, 256> part{};
    unsigned char before = 0;
    while (!name.empty()) {
        std::size_t const size = std::min(name.size(), part.size());
        for (std::size_t i = 0; i < size; ++i) {
            auto const code = static_cast<unsigned char>(name[i]);
            bool const second = before == 0xc2 && code >= 0x80 && code < 0xa0;  // U+0080 to U+009F
            part[i] = code < 0x20 || code == 0x7f || second ? '?' : name[i];
            before = code;
        }
        put(fd, {part.data(), size});
        name.remove_prefix(size);
    }
}

using Digits = std::array<char, 16>;

std::string_view digits_of(int signal, Digits& number) {
    auto const end = std::to_chars(number.data(), number.data() + number.size(), signal).ptr;
    return {number.data(), static_cast<std::size_t>(end - number.data())};
}

/// Of memory that is a file's (a shard of a cache, weights, a library): the kernel could not read
/// it. No clip is to blame then. False: it is no such signal.
bool note_lost_file(siginfo_t const& info) {
    if (info.si_signo != SIGBUS || info.si_code != BUS_ADRERR) return false;
    FilePath path;  // written as far as it is used
    std::string_view const file = mapped_file_at(info.si_addr, path);
    if (file.empty()) return false;
    Digits number{};
    put(STDERR_FILENO, "osora: signal ");
    put(STDERR_FILENO, digits_of(SIGBUS, number));
    put(STDERR_FILENO, ": a file in memory could not be read (its file system failed or is full, ");
    put(STDERR_FILENO, "or the file was cut): ");
    put_name(STDERR_FILENO, file);
    put(STDERR_FILENO, "\n");
    return true;
}

void note_crash(int signal, InHand const& clip) {
    Digits number{};
    std::string_view const digits = digits_of(signal, number);
    put(STDERR_FILENO, "osora: signal ");
    put(STDERR_FILENO, digits);
    put(STDERR_FILENO, " while FFmpeg had this clip in hand: ");
    put_name(STDERR_FILENO, clip.path);
    put(STDERR_FILENO, "\n");
    CrashFile const& file = crash_file();
    if (file.path[0] == '\0') return;
    ::mkdir(file.folder.data(), 0700);
    int const fd =
        ::open(file.path.data(),
               O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    if (fd < 0) return;
    char const part[] = {' ', static_cast<char>(clip.part), ' '};
    put(fd, digits);
    put(fd, {part, sizeof part});
    put(fd, {clip.path, std::strlen(clip.path) + 1});  // with the NUL
    ::fsync(fd);
    ::close(fd);
}

void on_crash(int signal, siginfo_t* info, void*) {
    int const saved = errno;
    InHand const clip = clip_of_thread();
    bool const by_kernel = info->si_code > 0;
    bool const own = by_kernel || info->si_pid == ::getpid();  // not a signal from outside
    bool const lost = by_kernel && note_lost_file(*info);
    if (clip.path != nullptr && own && !lost) note_crash(signal, clip);
    for (std::size_t i = 0; i < kCrashSignals.size(); ++i)
        if (kCrashSignals[i] == signal) ::sigaction(signal, &crash_file().before[i], nullptr);
    // A fault comes again when the handler returns, with the same stack.
    if (!by_kernel) ::raise(signal);
    errno = saved;
}

}  // namespace

ClipInHand::ClipInHand(std::string const& path, ClipPart part)
    : path_before_(clip_of_thread().path), part_before_(clip_of_thread().part) {
    if (notes_crashes()) use_signal_stack();
    clip_of_thread() = {.path = path.c_str(), .part = part};
}

ClipInHand::~ClipInHand() {
    clip_of_thread() = {.path = path_before_, .part = part_before_};
}

void note_crashes_in(std::filesystem::path const& file) {
    CrashFile& crash = crash_file();
    std::string const path = file.string(), folder = file.parent_path().string();
    if (path.size() < crash.path.size()) {
        folder.copy(crash.folder.data(), crash.folder.size() - 1);
        path.copy(crash.path.data(), crash.path.size() - 1);
    }
    struct sigaction action {};
    action.sa_sigaction = on_crash;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    for (std::size_t i = 0; i < kCrashSignals.size(); ++i)
        ::sigaction(kCrashSignals[i], &action, &crash.before[i]);
    notes_crashes() = true;
}

}  // namespace osora::worker
