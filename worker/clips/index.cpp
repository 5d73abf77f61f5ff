// Workers read one clip each; the calling thread adds rows to the index in the order of the
// manifest. What is wrong with a clip is an answer, never an error.
#include "worker/clips/index.hpp"

#include "base/files/files.hpp"
#include "base/text/utf8.hpp"
#include "protocol/json.hpp"
#include "worker/clips/clip_fault.hpp"
#include "worker/clips/index_file.hpp"
#include "worker/clips/index_summary.hpp"
#include "worker/clips/progress.hpp"
#include "worker/data/frames/clip_survey.hpp"
#include "worker/data/in_order.hpp"
#include "worker/data/manifest.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace osora::worker {
namespace {

using IndexClock = std::chrono::steady_clock;

constexpr std::size_t kKeyframesMax = 65'536;
constexpr int kCostFrames = 4;

double seconds_since(IndexClock::time_point begin) {
    return std::chrono::duration<double>(IndexClock::now() - begin).count();
}

double thread_cpu_ms() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

/// CPU time of decoding a few frames from a keyframe near the middle; of a container without an
/// index, which is read from its beginning, the first ones. 0: they do not decode.
double decode_cost_ms(ClipSurvey const& survey, std::int64_t keyframe, std::string const& path,
                      double deadline_s) {
    bool const listed = !survey.packets.empty() && survey.packets.front().time.pts == kNoTime;
    std::int64_t const start =
        listed && keyframe + kCostFrames <= survey.facts.num_frames ? keyframe : 0;
    FrameWindow const window{
        .start = start, .stride = 1, .num_frames = std::min(kCostFrames, survey.facts.num_frames)};
    ClipDecoder decoder({.deadline_s = deadline_s});
    double const begin = thread_cpu_ms();
    auto const done = decoder.verify(path, window);
    double const spent = thread_cpu_ms() - begin;
    std::int64_t const frames = decoder.counts().frames_decoded;
    return done.has_error() || frames == 0 ? 0 : spent / static_cast<double>(frames);
}

void add_keyframes(ClipSurvey const& survey, PacketFigures const& figures,
                   protocol::ClipIndexRow& row) {
    row.packets = static_cast<std::int64_t>(survey.packets.size());
    row.num_keyframes = static_cast<std::int64_t>(figures.keyframes.size());
    std::vector<std::int64_t> lengths;
    for (Spacing const& each : figures.keyframes) {
        lengths.push_back(each.packets);
        row.gop_s_max = std::max(row.gop_s_max, each.s);
    }
    std::ranges::sort(lengths);
    if (!lengths.empty()) {
        row.gop_frames_median = lengths[lengths.size() / 2];
        row.gop_frames_max = lengths.back();
    }
    if (row.num_keyframes == row.packets) return;
    for (SurveyedPacket const& each : survey.packets) {
        if (!each.time.key || row.key_dts.size() == kKeyframesMax) continue;
        row.key_dts.push_back(each.time.dts);
        row.key_positions.push_back(each.position);
    }
}

protocol::ClipIndexRow row_of(ClipSurvey const& survey, std::string const& path,
                              double deadline_s) {
    ClipFacts const& facts = survey.facts;
    PacketFigures const figures = figures_of(survey);
    protocol::ClipIndexRow row{.path = path,
                               .container = survey.container,
                               .codec = facts.codec,
                               .height = facts.height,
                               .width = facts.width,
                               .stored_height = facts.stored_height,
                               .stored_width = facts.stored_width,
                               .rotation = survey.rotation,
                               .mirrored = survey.mirrored,
                               .pixel_width = survey.pixel_width,
                               .pixel_height = survey.pixel_height,
                               .num_frames = facts.num_frames,
                               .fps = facts.fps,
                               .duration_s = figures.duration_s,
                               .constant_rate = figures.constant_rate,
                               .time_base_num = survey.time_base_num,
                               .time_base_den = survey.time_base_den,
                               .key_dts = {},
                               .key_positions = {}};
    add_keyframes(survey, figures, row);
    row.decode_ms_per_frame = decode_cost_ms(survey, figures.cheap_keyframe, path, deadline_s);
    return row;
}

struct IndexedClip {
    std::optional<ClipFault> fault;
    protocol::ClipIndexRow read;                   // if it was not kept
    protocol::ClipIndexRow const* kept = nullptr;  // of the index
};

/// Size and modification time that tell whether a file has changed.
struct FileStamp {
    std::int64_t size_bytes = 0, mtime_ns = 0;
};
std::optional<FileStamp> stamp_of(std::string const& path) {
    struct stat info {};
    if (::stat(path.c_str(), &info) != 0) return std::nullopt;
    return FileStamp{info.st_size, info.st_mtim.tv_sec * 1'000'000'000ll + info.st_mtim.tv_nsec};
}

/// Answers with the row in JSON, without its path, or with a fault.
ClipWork surveying(double deadline_s) {
    return [deadline_s](Texts const& texts) -> Result<Texts> {
        std::string const& path = texts.front();
        auto const survey = ClipDecoder({.deadline_s = deadline_s}).survey(path);
        if (survey.has_error()) {
            auto fault = fault_of(survey.error(), path, deadline_s);
            return Texts{std::move(fault.kind), std::move(fault.reason)};
        }
        auto row = row_of(*survey, path, deadline_s);
        row.path.clear();  // may not be UTF-8
        return Texts{protocol::encode(row)};
    };
}

Result<IndexedClip> survey(ClipWorker& worker, std::string const& path) {
    OSORA_TRY(auto answer, worker.ask({path}));
    IndexedClip made;
    if (answer.fault) {
        made.fault = std::move(answer.fault);
        return made;
    }
    if (answer.texts.size() != 1) return Error{Errc::corrupt, "osora-clips is of another version"};
    OSORA_TRY(made.read, protocol::decode<protocol::ClipIndexRow>(answer.texts[0]));
    made.read.path = path;
    return made;
}

/// Reads a clip unless the index has it and its file has not changed.
Result<IndexedClip> indexed(ClipWorker& worker, ListedClip const& listed, IndexRows const& had) {
    IndexedClip made;
    if (!listed.fault.empty()) {
        made.fault = {.kind = "row", .reason = listed.fault};
        return made;
    }
    std::string const& path = listed.clip.path;
    auto const stamp = stamp_of(path);  // none: the survey says why
    auto const found = had.find(path);
    if (stamp && found != had.end() && found->second.size_bytes == stamp->size_bytes &&
        found->second.mtime_ns == stamp->mtime_ns) {
        made.kept = &found->second;
        return made;
    }
    OSORA_TRY(made, survey(worker, path));
    // Of before: a file that grows is read again.
    if (stamp) {
        made.read.size_bytes = stamp->size_bytes;
        made.read.mtime_ns = stamp->mtime_ns;
    }
    return made;
}

/// "path" for a list in the folder of `out`: as written if that names the same file there.
class OutputPaths {
public:
    OutputPaths(std::string const& manifest, std::string const& out) {
        std::error_code ignored;
        same_folder_ = std::filesystem::equivalent(folder_of(manifest), folder_of(out), ignored);
    }
    [[nodiscard]] std::string const& path_of(ListedClip const& listed) const {
        return same_folder_ ? listed.name : listed.clip.path;
    }

private:
    bool same_folder_ = false;
};

Result<void> check_index_request(protocol::ClipIndexRequest const& request) {
    constexpr double kDeadlineMax = 86'400;
    constexpr int kWorkersMax = 1024;
    bool const good = request.deadline_s > 0 && request.deadline_s <= kDeadlineMax &&
                      request.workers >= 0 && request.workers <= kWorkersMax;
    if (!good) return Error{Errc::invalid_input, "index: a number is out of its range"};
    std::error_code ignored;
    for (std::string const& file : {request.out, request.index}) {
        if (std::filesystem::equivalent(file, request.manifest, ignored))
            return invalid(file + ": is the manifest itself; give another file");
    }
    auto const place = [&ignored](std::string const& file) {
        return std::filesystem::weakly_canonical(std::filesystem::absolute(file), ignored);
    };
    bool const same = !request.out.empty() && place(request.out) == place(request.index);
    if (same) return invalid(request.out + ": is the index, too; give another file");
    return {};
}

/// Rows go to the index, to the summary and to the filled manifest, in order.
class IndexTaker {
public:
    IndexTaker(IndexFile& index, std::optional<NewFile>& out, protocol::ClipIndex& answer)
        : index_(index), out_(out), answer_(answer), summary_(answer) {}

    [[nodiscard]] Result<void> take(ListedClip const& listed, IndexedClip& made,
                                    std::string const& path) {
        protocol::ClipIndexRow const* row = made.kept != nullptr ? made.kept : &made.read;
        if (made.fault) {
            row = nullptr;
            answer_.failures.push_back(
                damaged_clip(listed.clip.line, listed.name, std::move(*made.fault)));
        } else {
            ++(made.kept != nullptr ? answer_.kept : answer_.read);
            // JSON cannot hold other paths: their clips are read each time.
            bool const storable = is_utf8(row->path);
            if (made.kept == nullptr && storable) OSORA_TRY_VOID(index_.append(*row));
            summary_.add(*row);
        }
        bool const listable = listed.fault.empty();
        if (out_ && listable)
            OSORA_TRY_VOID(out_->write(filled_line(listed.clip, path, row, answer_.filled)));
        return {};
    }
    [[nodiscard]] Result<void> finish() {
        summary_.finish();
        OSORA_TRY_VOID(index_.finish());
        if (out_) OSORA_TRY_VOID(out_->replace());
        return {};
    }

private:
    IndexFile& index_;
    std::optional<NewFile>& out_;
    protocol::ClipIndex& answer_;
    IndexSummary summary_;
};

}  // namespace

Result<void> survey_clips(protocol::ClipIndexRequest const& request) {
    return serve_clips(surveying(request.deadline_s));
}

Result<protocol::ClipIndex> index_clips(protocol::ClipIndexRequest const& request,
                                        ReaderProgram const& program) {
    OSORA_TRY_VOID(check_index_request(request));
    auto const begin = IndexClock::now();
    OSORA_TRY(auto const clips, list_clips(request.manifest, request.columns));
    OSORA_TRY(auto index, IndexFile::open(request.index));
    std::optional<NewFile> out;
    if (!request.out.empty()) {
        OSORA_TRY(auto fresh, NewFile::create(request.out));
        out.emplace(std::move(fresh));
        OSORA_TRY_VOID(out->write(kFilledHeader));
    }
    protocol::ClipIndex answer{.index = request.index,
                               .out = request.out,
                               .rows = static_cast<std::int64_t>(clips.size()),
                               .damaged_lines = index.had().damaged_lines,
                               .codecs = {},
                               .containers = {},
                               .resolutions = {},
                               .filled = {},
                               .failures = {}};
    IndexTaker taker(index, out, answer);
    OutputPaths const paths(request.manifest, request.out);
    ClipProgress progress(request.progress, answer.rows);
    protocol::ClipIndexRequest asked;
    asked.deadline_s = request.deadline_s;
    ClipChild::Options const options{.arguments = {"survey", protocol::encode(asked)},
                                     .deadline_s = request.deadline_s,
                                     .count = std::make_shared<CrashCount>()};
    std::vector<std::unique_ptr<ClipWorker>> workers;
    for (int i = 0; i < std::max(1, request.workers); ++i)
        workers.push_back(
            std::make_unique<ClipWorker>(program, options, surveying(request.deadline_s)));
    std::vector<Result<IndexedClip>> slots(in_order_slots(request.workers),
                                           Result<IndexedClip>(IndexedClip{}));
    Result<void> done;
    auto const make = [&](InOrderPiece const& piece) {
        slots[piece.slot] = indexed(*workers[piece.worker], clips[piece.index], index.had().rows);
    };
    auto const take = [&](InOrderPiece const& piece) {
        ListedClip const& listed = clips[piece.index];
        auto& made = slots[piece.slot];
        done = made.has_error() ? Result<void>(made.error())
                                : taker.take(listed, *made, paths.path_of(listed));
        progress.step(static_cast<std::int64_t>(piece.index) + 1);
        return done.has_value();
    };
    run_in_order(clips.size(), request.workers, {.make = make, .take = take});
    if (done.has_error()) return done.error();
    OSORA_TRY_VOID(taker.finish());
    answer.seconds = seconds_since(begin);
    return answer;
}

}  // namespace osora::worker
