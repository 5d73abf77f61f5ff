// osora-clips: what `osora data` does with clips. Started by osora with one JSON request; the
// answer is one JSON object. It has no LibTorch, so that it starts at once and its memory is the
// loader's. Exit codes are osora-worker's (docs/contract.md section 4).
#include "base/text/printable.hpp"
#include "base/version.hpp"
#include "protocol/exit_codes.hpp"
#include "protocol/json.hpp"
#include "worker/clips/bench.hpp"
#include "worker/clips/check.hpp"
#include "worker/clips/index.hpp"
#include "worker/clips/isolate/child_reader.hpp"
#include "worker/clips/isolate/read.hpp"
#include "worker/clips/look/look.hpp"
#include "worker/clips/score.hpp"
#include "worker/data/clip_in_hand.hpp"
#include "worker/data/frames/decoder.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

namespace osora::worker {
namespace {

constexpr std::string_view kUsage =
    "osora-clips: works on the clips of a manifest; osora data starts it\n"
    "usage: osora-clips bench|check|index|look|score REQUEST\n"
    "       osora-clips read REQUEST       decodes for osora-clips score and ranks of job = score\n"
    "       osora-clips verify REQUEST     decodes for osora-clips check\n"
    "       osora-clips survey REQUEST     reads for osora-clips index\n"
    "       osora-clips draw REQUEST       decodes for osora-clips look\n"
    "       osora-clips --version | --help\n"
    "REQUEST is a JSON object, as is the answer.\n"
    "example: osora-clips bench '{\"manifest\": \"clips.csv\", \"num_frames\": 16, "
    "\"stride\": 3, \"width\": 640, \"height\": 360}'\n";

int exit_code_of(Error const& error) {
    switch (error.code) {
        case Errc::invalid_input:
        case Errc::not_found:
            return protocol::kExitConfiguration;
        case Errc::out_of_memory:
            return protocol::kExitOutOfMemory;
        default:
            return protocol::kExitData;
    }
}

template <class Request, class Answer>
int answer(std::string const& text, Result<Answer> (*work)(Request const&)) {
    auto const request = protocol::decode<Request>(text);
    auto const done = request.has_error() ? Result<Answer>(request.error()) : work(*request);
    if (done.has_error()) {
        fmt::print(stderr, "osora-clips: {}\n", printable(done.error().message, "\n\t"));
        return exit_code_of(done.error());
    }
    fmt::print("{}\n", protocol::encode(*done));
    return 0;
}

Result<protocol::ClipScores> score_apart(protocol::ClipScoreRequest const& request) {
    return score_clips(request, reader_program());
}

Result<protocol::ClipCheck> check_apart(protocol::ClipCheckRequest const& request) {
    return check_clips(request, reader_program());
}

Result<protocol::ClipIndex> index_apart(protocol::ClipIndexRequest const& request) {
    return index_clips(request, reader_program());
}

Result<protocol::ClipLook> look_apart(protocol::ClipLookRequest const& request) {
    return look_clips(request, reader_program());
}

/// A child that another osora-clips, or a rank, gives clips to.
template <class Request>
int serve(std::vector<std::string> const& arguments, Result<void> (*work)(Request const&)) {
    auto const request = protocol::decode<Request>(arguments[1]);
    auto const done = request.has_error() ? Result<void>(request.error()) : work(*request);
    if (!done.has_error()) return 0;
    fmt::print(stderr, "osora-clips {}: {}\n", arguments[0],
               printable(done.error().message, "\n\t"));
    return exit_code_of(done.error());
}

int run(std::vector<std::string> const& arguments) {
    if (arguments.size() == 1 && arguments[0] == "--version") {
        fmt::print("osora-clips {} ({})\n", kVersion, kGitCommit);
        return 0;
    }
    if (arguments.size() == 1 && arguments[0] == "--help") {
        fmt::print("{}", kUsage);
        return 0;
    }
    silence_ffmpeg();  // problems of clips are in the answer
    // They read clips themselves; children are there to crash, and who gave them clips says so.
    bool const reads = !arguments.empty() && (arguments[0] == "bench" || arguments[0] == "look");
    if (reads) note_crashes_in({});
    if (arguments.size() == 2 && arguments[0] == "bench") return answer(arguments[1], bench_clips);
    if (arguments.size() == 2 && arguments[0] == "check") return answer(arguments[1], check_apart);
    if (arguments.size() == 2 && arguments[0] == "index") return answer(arguments[1], index_apart);
    if (arguments.size() == 2 && arguments[0] == "look") return answer(arguments[1], look_apart);
    if (arguments.size() == 2 && arguments[0] == "score") return answer(arguments[1], score_apart);
    if (arguments.size() == 2 && arguments[0] == "read") return serve(arguments, read_clips);
    if (arguments.size() == 2 && arguments[0] == "verify") return serve(arguments, verify_clips);
    if (arguments.size() == 2 && arguments[0] == "survey") return serve(arguments, survey_clips);
    if (arguments.size() == 2 && arguments[0] == "draw") return serve(arguments, draw_clips);
    fmt::print(stderr, "{}", kUsage);
    return protocol::kExitConfiguration;
}

}  // namespace
}  // namespace osora::worker

int main(int count, char** arguments) {
    try {
        return osora::worker::run({arguments + 1, arguments + count});
    } catch (std::exception const& error) {
        fmt::print(stderr, "osora-clips: {}\n", osora::printable(error.what(), "\n\t"));
        return osora::protocol::kExitCheckFailed;
    }
}
