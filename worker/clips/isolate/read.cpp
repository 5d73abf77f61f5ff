#include "worker/clips/isolate/read.hpp"

#include "worker/clips/clip_reader.hpp"
#include "worker/clips/isolate/clip_child.hpp"

#include <memory>
#include <utility>

namespace osora::worker {
namespace {

Texts texts_of(DecodedClip const& clip) {
    Texts texts{"", ""};
    if (clip.fault) texts = {clip.fault->kind, clip.fault->reason};
    texts.insert(texts.end(), clip.cells.begin(), clip.cells.end());
    for (auto const& each : clip.of_models)
        texts.emplace_back(each.pixels.begin(), each.pixels.end());
    return texts;
}

}  // namespace

Result<void> read_clips(protocol::ClipScoreRequest const& request) {
    OSORA_TRY(auto asked,
              asked_scores(request.scores, request.frames, request.deadline_s, request.models));
    std::unique_ptr<TextReader> text;
    if (asked.text) {
        OSORA_TRY(text, open_text_reader(text_module_path()));
    }
    auto const reader = local_reader(std::move(asked), std::move(text));
    return serve_clips([&](Texts const& request) -> Result<Texts> {
        OSORA_TRY(auto const clip, reader->read(request.front(), nullptr));
        return texts_of(clip);
    });
}

}  // namespace osora::worker
