#include "worker/clips/isolate/read.hpp"

#include "worker/clips/clip_reader.hpp"
#include "worker/clips/isolate/text_stream.hpp"

#include <unistd.h>

#include <csignal>
#include <string_view>
#include <utility>
#include <vector>

namespace osora::worker {
namespace {

Result<void> send_clip(DecodedClip const& clip) {
    std::vector<std::string_view> texts{"", ""};
    if (clip.fault) texts = {clip.fault->kind, clip.fault->reason};
    texts.insert(texts.end(), clip.cells.begin(), clip.cells.end());
    for (auto const& each : clip.of_models)
        texts.emplace_back(reinterpret_cast<char const*>(each.pixels.data()), each.pixels.size());
    return send_texts(STDOUT_FILENO, texts);
}

}  // namespace

Result<void> read_clips(protocol::ClipScoreRequest const& request) {
    for (int const each : {SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2}) std::signal(each, SIG_IGN);
    OSORA_TRY(auto asked,
              asked_scores(request.scores, request.frames, request.deadline_s, request.models));
    std::unique_ptr<TextReader> text;
    if (asked.text) {
        OSORA_TRY(text, open_text_reader(text_module_path()));
    }
    auto const reader = local_reader(std::move(asked), std::move(text));
    OSORA_TRY_VOID(send_texts(STDOUT_FILENO, {"ready"}));
    for (;;) {
        OSORA_TRY(auto const path, receive_texts(STDIN_FILENO));
        if (!path || path->empty()) return {};
        OSORA_TRY(auto const clip, reader->read(path->front(), nullptr));
        OSORA_TRY_VOID(send_clip(clip));
    }
}

}  // namespace osora::worker
