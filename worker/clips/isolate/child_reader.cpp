#include "worker/clips/isolate/child_reader.hpp"

#include "base/process/process.hpp"
#include "protocol/clip_score.hpp"
#include "worker/clips/isolate/text_stream.hpp"
#include "worker/clips/model_frames.hpp"

#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <optional>
#include <system_error>
#include <utility>

namespace osora::worker {
namespace {

using ReadClock = std::chrono::steady_clock;

/// A fault's kind and reason, the cells, and the pixels of each model.
Result<DecodedClip> decoded_of(Texts&& texts, AskedScores const& asked) {
    constexpr std::size_t kBefore = 2;
    std::size_t const cells = asked.columns().size() - 2 * asked.models.size();
    DecodedClip made;
    if (texts.size() >= kBefore && !texts[0].empty()) {
        made.fault = ClipFault{.kind = std::move(texts[0]), .reason = std::move(texts[1])};
        return made;
    }
    if (texts.size() != kBefore + cells + asked.models.size())
        return Error{Errc::corrupt, "osora-clips is of another version"};
    auto const pixels = texts.begin() + static_cast<std::ptrdiff_t>(kBefore + cells);
    made.cells.assign(texts.begin() + kBefore, pixels);
    for (std::size_t i = 0; i < asked.models.size(); ++i) {
        auto const picture = picture_of(asked.models[i].score);
        auto const& bytes = pixels[static_cast<std::ptrdiff_t>(i)];
        RgbFrames frames{.pixels = {bytes.begin(), bytes.end()},
                         .frames = bytes.empty() ? 0 : picture.frames,
                         .height = picture.height,
                         .width = picture.width};
        if (frames.pixels.size() != static_cast<std::size_t>(frames.frames) * frames.frame_bytes())
            return Error{Errc::corrupt, "osora-clips is of another version"};
        made.of_models.push_back(std::move(frames));
    }
    return made;
}

class ChildReader : public ClipReader {
public:
    ChildReader(ReaderProgram program, AskedScores asked, std::shared_ptr<CrashCount> count)
        : program_(std::move(program)), asked_(std::move(asked)), count_(std::move(count)) {}
    ~ChildReader() override { end_child(); }

    [[nodiscard]] Result<DecodedClip> read(std::string const& path,
                                           std::atomic<bool> const* cancel) override {
        constexpr int kTries = 2;
        ++count_->clips;
        std::string ended;
        for (int i = 0; i < kTries; ++i) {
            if (!child_) OSORA_TRY_VOID(start(cancel));
            auto answer = ask(path, cancel);
            if (answer.has_error()) {
                end_child();
                return without_answer(answer.error());
            }
            if (*answer) return decoded_of(std::move(**answer), asked_);
            ended = describe(end_child());
        }
        ++count_->crashed;
        std::int64_t const clips = count_->clips, crashed = count_->crashed;
        if (too_many_crashes(clips, crashed)) {
            return Error{Errc::io,
                         fmt::format("{} of {} clips ended the process that decodes them, the last "
                                     "was {}: is FFmpeg damaged, or the memory too small?",
                                     crashed, clips, path)};
        }
        return DecodedClip{.fault =
                               ClipFault{.kind = "crash",
                                         .reason = "twice, the process that decoded it " + ended}};
    }

private:
    Result<void> start(std::atomic<bool> const* cancel) {
        constexpr auto kStartMost = std::chrono::minutes(2);
        std::array<int, 2> ends{};
        if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
            return Error{Errc::io, "socketpair: " + std::generic_category().message(errno)};
        }
        Descriptor own(ends[0]);
        Descriptor other(ends[1]);
        OSORA_TRY(
            auto started,
            spawn({.program = program_.program,
                   .arguments = {"read", read_request(asked_)},
                   .environment = program_.environment,
                   .descriptors = {{other.get(), STDIN_FILENO}, {other.get(), STDOUT_FILENO}}}));
        other.reset();  // so that its end is seen
        child_ = std::move(started);
        stream_ = std::move(own);
        return check_start(receive_texts(
            stream_.get(), {.until = ReadClock::now() + kStartMost, .cancel = cancel}));
    }

    Result<void> check_start(Result<std::optional<Texts>> const& said) {
        bool const ready = said.has_value() && *said && **said == Texts{"ready"};
        if (ready) return {};
        bool const cancelled = said.has_error() && said.error().code == Errc::cancelled;
        auto const status = end_child();
        if (cancelled) return said.error();
        return Error{Errc::io,
                     fmt::format("{} read {}", program_.program.string(),
                                 said.has_error() ? "does not answer" : describe(status))};
    }

    /// Nothing: the child has ended.
    Result<std::optional<Texts>> ask(std::string const& path, std::atomic<bool> const* cancel) {
        constexpr double kGrace_s = 30;
        auto const most = std::chrono::duration_cast<ReadClock::duration>(
            std::chrono::duration<double>(asked_.deadline_s + kGrace_s));
        auto const sent = send_texts(stream_.get(), {path});
        if (sent.has_error()) return std::optional<Texts>();
        return receive_texts(stream_.get(), {.until = ReadClock::now() + most, .cancel = cancel});
    }

    Result<DecodedClip> without_answer(Error const& error) const {
        if (error.code == Errc::timed_out || error.code == Errc::cancelled)
            return DecodedClip{.fault = fault_of(error, {}, asked_.deadline_s)};
        return error;
    }

    ExitStatus end_child() {
        stream_.reset();
        if (!child_) return {};
        // After a crash it is a zombie, to which a signal does nothing.
        signal_group(*child_, SIGKILL);
        auto const status = reap(*child_);
        child_.reset();
        return status;
    }

    ReaderProgram program_;
    AskedScores asked_;
    std::shared_ptr<CrashCount> count_;
    std::optional<Child> child_;
    Descriptor stream_;
};

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

std::unique_ptr<ClipReader> child_reader(ReaderProgram program, AskedScores asked,
                                         std::shared_ptr<CrashCount> count) {
    return std::make_unique<ChildReader>(std::move(program), std::move(asked), std::move(count));
}

std::string read_request(AskedScores const& asked) {
    protocol::ClipScoreRequest request;
    request.frames = asked.frames;
    request.deadline_s = asked.deadline_s;
    std::array const names{std::pair{"motion", asked.motion}, std::pair{"blur", asked.blur},
                           std::pair{"cuts", asked.cuts}, std::pair{"brightness", asked.brightness},
                           std::pair{"text", asked.text}};
    for (auto const& [name, wanted] : names) {
        if (wanted) request.scores.emplace_back(name);
    }
    for (auto const& each : asked.models) request.models[each.score] = "";
    return protocol::encode(request);
}

}  // namespace osora::worker
