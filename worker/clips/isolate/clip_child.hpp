// A child of osora-clips that has one clip at a time: a crash of FFmpeg ends the child and names
// the clip. The clip is tried once more in another child, then it has a fault.
#pragma once

#include "base/environment.hpp"
#include "base/process/process.hpp"
#include "base/result.hpp"
#include "worker/clips/clip_fault.hpp"
#include "worker/clips/isolate/text_stream.hpp"

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace osora::worker {

/// Of all children of a process.
struct CrashCount {
    std::atomic<std::int64_t> clips = 0, crashed = 0;
};

/// Whether so many crashes are no longer the clips' fault: more than 5, and one clip in ten.
[[nodiscard]] bool too_many_crashes(std::int64_t clips, std::int64_t crashed);

struct ReaderProgram {
    std::filesystem::path program = {};  // osora-clips; empty: no child
    Environment environment = {};        // of the child
};
/// $OSORA_CLIPS, else ../bin/osora-clips of this program's folder, in this environment.
[[nodiscard]] ReaderProgram reader_program();

/// For one thread, with which the child ends.
class ClipChild {
public:
    struct Options {
        std::vector<std::string> arguments = {};
        double deadline_s = 30;  // for one clip; the child ends 30 s after it
        std::shared_ptr<CrashCount> count = {};
    };
    ClipChild(ReaderProgram program, Options options)
        : program_(std::move(program)), options_(std::move(options)) {}
    ClipChild(ClipChild const&) = delete;
    ClipChild& operator=(ClipChild const&) = delete;
    ~ClipChild() { end(); }

    struct Answer {
        Texts texts = {};
        std::optional<ClipFault> fault = {};  // crash, slow; no texts
    };
    /// Starts the child if there is none. `request` begins with the path of the clip. `cancel` (may
    /// be null): true ends the child. Errors: io (the program does not start; too_many_crashes()).
    [[nodiscard]] Result<Answer> ask(std::vector<std::string_view> const& request,
                                     std::atomic<bool> const* cancel);

private:
    [[nodiscard]] Result<void> start(std::atomic<bool> const* cancel);
    [[nodiscard]] Result<void> check_start(Result<std::optional<Texts>> const& said);
    [[nodiscard]] Result<std::optional<Texts>> send(std::vector<std::string_view> const& request,
                                                    std::atomic<bool> const* cancel);
    [[nodiscard]] Result<Answer> without_answer(Error const& error) const;
    ExitStatus end();

    ReaderProgram program_;
    Options options_;
    std::optional<Child> child_;
    Descriptor stream_;
};

/// What is done with a clip: a request, which begins with its path, becomes an answer. Two texts
/// are a fault: its kind and its reason.
using ClipWork = std::function<Result<Texts>(Texts const&)>;

/// The child: says that it is ready, then answers each request on descriptor 0 with what `work`
/// makes of it, on 1, until the other end closes. Ignores the signals by which a scheduler ends a
/// job: the parent decides. Errors: io, and those of `work`.
[[nodiscard]] Result<void> serve_clips(ClipWork const& work);

/// Does it with one clip at a time, in a child of `program` that serves the same work, or here if
/// that is empty.
class ClipWorker {
public:
    ClipWorker(ReaderProgram const& program, ClipChild::Options options, ClipWork here);
    /// Errors: those of ClipChild::ask() and of the work.
    [[nodiscard]] Result<ClipChild::Answer> ask(Texts const& request);

private:
    std::optional<ClipChild> child_;
    ClipWork here_;  // without a child
};

}  // namespace osora::worker
