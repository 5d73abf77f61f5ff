#include "worker/clips/clip_scorer.hpp"

#include "base/text/printable.hpp"
#include "worker/clips/clip_model.hpp"
#include "worker/clips/model_frames.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <utility>

namespace osora::worker {
namespace {

/// Cells of the models, and why one of them gave no number; "" if all did.
std::string add_models(DecodedClip& clip, AskedScores const& asked, ScoreTools const& tools) {
    std::string fault;
    for (std::size_t i = 0; i < asked.models.size(); ++i) {
        auto const& model = asked.models[i];
        if (clip.of_models[i].frames == 0) {
            clip.cells.insert(clip.cells.end(), {"", ""});
            continue;
        }
        auto const score = tools.models[i]->score(clip.of_models[i]);
        clip.cells.push_back(score ? fmt::format("{:.6g}", *score) : "");
        clip.cells.push_back(model.hash);
        if (score.has_error()) {
            fault += fmt::format("{}{}: {}", fault.empty() ? "" : "; ", model.score,
                                 score.error().message);
        }
    }
    return fault;
}

Result<std::shared_ptr<ClipModel const>> open_model(AskedModel const& model, int local_rank) {
    auto const picture = picture_of(model.score);
    auto opened = open_clip_model(beside_program("libosora_score_models.so"),
                                  {.file = model.file,
                                   .input = picture.input,
                                   .frames = picture.frames,
                                   .height = picture.height,
                                   .width = picture.width,
                                   .local_rank = local_rank,
                                   .cuda_module = beside_program("libosora_cuda.so")});
    if (opened.has_error()) return Error(opened.error()).in(model.score);
    return std::shared_ptr<ClipModel const>(std::move(*opened));
}

}  // namespace

Result<std::vector<ScoreTools>> score_tools(AskedScores const& asked,
                                            ScoreToolOptions const& options) {
    std::vector<std::shared_ptr<ClipModel const>> models;
    for (auto const& each : asked.models) {
        OSORA_TRY(auto model, open_model(each, options.local_rank));
        models.push_back(std::move(model));
    }
    bool const child = !options.reader.program.empty();
    // With children only to see that they can.
    if (child && asked.text) OSORA_TRY_VOID(open_text_reader(text_module_path()));
    auto const crashes = std::make_shared<CrashCount>();
    std::vector<ScoreTools> tools(static_cast<std::size_t>(std::max(1, options.threads)));
    for (auto& each : tools) {
        each.models = models;
        if (child) {
            each.reader = child_reader(options.reader, asked, crashes);
            continue;
        }
        std::unique_ptr<TextReader> text;
        if (asked.text) {
            OSORA_TRY(text, open_text_reader(text_module_path()));
        }
        each.reader = local_reader(asked, std::move(text));
    }
    return tools;
}

void stat_clip(std::string const& path, ScoreRow& row) {
    struct stat info {};
    if (::stat(path.c_str(), &info) != 0) return;
    row.size_bytes = info.st_size;
    row.mtime_ns = info.st_mtim.tv_sec * 1'000'000'000ll + info.st_mtim.tv_nsec;
}

Result<ScoredClip> score_clip(ListedClip const& listed, AskedScores const& asked,
                              ScoreTools const& tools) {
    ScoredClip made;
    made.row.path = listed.name;
    made.row.frames = asked.frames;
    std::string const& path = listed.clip.path;
    stat_clip(path, made.row);  // of a missing file the decoder says why
    DecodedClip clip{.fault = ClipFault{.kind = "row", .reason = listed.fault}};
    if (listed.fault.empty()) {
        OSORA_TRY(clip, tools.reader->read(path, tools.cancel));
    }
    if (clip.fault) {
        clip.cells.assign(asked.columns().size(), "");
    } else if (auto fault = add_models(clip, asked, tools); !fault.empty()) {
        clip.fault = ClipFault{.kind = "model", .reason = std::move(fault)};
    }
    made.row.cells = std::move(clip.cells);
    made.fault = std::move(clip.fault);
    if (made.fault) made.row.error = printable(made.fault->kind + ": " + made.fault->reason);
    return made;
}

}  // namespace osora::worker
