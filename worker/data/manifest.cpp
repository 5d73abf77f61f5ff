// Manifest rows to clips: columns by name, numbers checked, gaps filled from the files, several at
// a time and in the order of the rows.
#include "worker/data/manifest.hpp"

#include "base/files/files.hpp"
#include "base/text/csv.hpp"
#include "plan/buckets/hash.hpp"
#include "plan/buckets/list_rows.hpp"
#include "worker/data/frames/decoder.hpp"
#include "worker/data/in_order.hpp"
#include "worker/data/listed_size.hpp"
#include "worker/data/row_figures.hpp"
#include "worker/data/skipped_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <string_view>

namespace osora::worker {
namespace {

/// A list may have millions.
constexpr std::size_t kRowsAtOnce = 4096;

bool says_all(Clip const& clip) {
    bool const sized = clip.num_frames > 0 && clip.height > 0 && clip.width > 0;
    return sized && (clip.fps > 0.0 || clip.num_frames == 1);
}

Result<void> fill_gaps(ClipDecoder& decoder, Clip& clip) {
    std::error_code error;
    auto const status = std::filesystem::status(clip.path, error);
    if (status.type() == std::filesystem::file_type::not_found) {
        return Error{Errc::not_found, "no such file"};
    }
    if (status.type() != std::filesystem::file_type::regular) {
        if (error) return Error{Errc::io, error.message()};
        return Error{Errc::corrupt, "not a regular file"};
    }
    if (says_all(clip)) return {};
    OSORA_TRY(ClipFacts const facts, decoder.probe(clip.path));
    fill_figures(clip, facts);
    clip.probed = true;
    return {};
}

ListedClip listed_clip(plan::ListRow row) {
    ListedClip listed{.clip = {}, .name = std::move(row.name), .fault = std::move(row.fault)};
    listed.clip = {.path = std::move(row.path),
                   .text = std::move(row.text),
                   .num_frames = row.num_frames,
                   .height = row.height,
                   .width = row.width,
                   .fps = row.fps,
                   .line = row.line};
    return listed;
}

std::filesystem::path folder_of(std::filesystem::path const& manifest) {
    return manifest.parent_path().empty() ? "." : manifest.parent_path();
}

std::uint64_t fingerprint_of(std::vector<Clip> const& clips) {
    std::uint64_t hash = 0;
    for (Clip const& clip : clips) {
        for (char const c : clip.path) hash = plan::mix64(hash ^ static_cast<unsigned char>(c));
        for (int const value : {clip.num_frames, clip.height, clip.width}) {
            hash = plan::mix64(hash ^ static_cast<std::uint64_t>(value));
        }
    }
    return hash;
}

/// Numbers of clips by path, read when the first is asked for.
class Remembered {
public:
    explicit Remembered(std::filesystem::path file) : file_(std::move(file)) {}

    void fill(Clip& clip) {
        if (says_all(clip) || file_.empty()) return;
        if (!read_) load();
        auto const found = clips_.find(clip.path);
        if (found == clips_.end()) return;
        if (clip.num_frames == 0) clip.num_frames = found->second.num_frames;
        if (clip.height == 0) clip.height = found->second.height;
        if (clip.width == 0) clip.width = found->second.width;
        if (clip.fps == 0.0) clip.fps = found->second.fps;
    }
    /// What an earlier start found in place of a listed size, or nullopt.
    [[nodiscard]] std::optional<FrameSize> size_of(Clip const& clip) {
        auto const found = all().find(clip.path);
        if (found == clips_.end() || found->second.height == 0) return std::nullopt;
        return FrameSize{.height = found->second.height, .width = found->second.width};
    }
    [[nodiscard]] std::map<std::string, Clip>& all() {
        if (!read_) load();
        return clips_;
    }
    /// io: the file is there and cannot be read: it must be taken neither for an empty one nor
    /// written over.
    [[nodiscard]] Result<void> readable() const {
        return failed_ ? Result<void>(*failed_) : Result<void>();
    }

private:
    void load() {
        read_ = true;
        if (file_.empty()) return;
        auto listed = list_clips(file_);
        if (listed.has_error() && listed.error().code == Errc::io) failed_ = listed.error();
        if (listed.has_error()) return;  // an earlier start wrote none
        for (ListedClip& each : *listed) {
            if (each.fault.empty()) clips_.emplace(each.clip.path, std::move(each.clip));
        }
    }

    std::filesystem::path file_;
    bool read_ = false;
    std::optional<Error> failed_;
    std::map<std::string, Clip> clips_;
};

/// One a thread that opens files.
using Decoders = std::vector<std::unique_ptr<ClipDecoder>>;

Decoders decoders_for(ManifestOptions const& options) {
    Decoders decoders;
    for (int i = 0; i < std::max(1, options.workers); ++i) {
        decoders.push_back(
            std::make_unique<ClipDecoder>(DecodeLimits{.deadline_s = options.probe_deadline_s}));
    }
    return decoders;
}

/// Listed sizes against the files.
class ListedSizes {
public:
    ListedSizes(Manifest& manifest, Remembered& remembered, ManifestOptions const& options,
                Decoders const& decoders)
        : manifest_(manifest), remembered_(remembered), options_(options), decoders_(decoders) {}

    void check() {
        for (Clip& clip : manifest_.clips) recall(clip);
        look_at(drawn());
        if (manifest_.resized.empty()) return;
        std::vector<std::size_t> all(manifest_.clips.size());
        std::iota(all.begin(), all.end(), std::size_t{0});
        look_at(all);
        std::ranges::sort(manifest_.resized, {}, &SkippedRow::line);
    }

private:
    /// One of each 64th part of the list, at no regular distance: lists often repeat.
    [[nodiscard]] std::vector<std::size_t> drawn() const {
        std::size_t const clips = manifest_.clips.size();
        std::size_t const parts = std::min<std::size_t>(clips, 64);
        std::vector<std::size_t> indices;
        for (std::size_t i = 0; i < parts; ++i) {
            std::size_t const first = i * clips / parts, end = (i + 1) * clips / parts;
            indices.push_back(first + plan::below(plan::hash64({i, clips}), end - first));
        }
        return indices;
    }

    /// The size of an earlier start stays: its clip may be gone by now.
    void recall(Clip& clip) {
        auto const size = clip.probed ? std::nullopt : remembered_.size_of(clip);
        if (size) settle(clip, {.shown = *size, .stored = {}});
    }

    /// Each index once: threads read the others while one is settled.
    void look_at(std::vector<std::size_t> const& indices) {
        using Found = std::optional<Result<PictureSizes>>;  // none: it must not be opened
        std::vector<Found> slots(in_order_slots(options_.workers));
        auto const make = [&](InOrderPiece const& piece) {
            Clip const& clip = manifest_.clips[indices[piece.index]];
            slots[piece.slot].reset();
            if (clip.gone || options_.crashed.headers_crash(clip.path)) return;
            slots[piece.slot] = decoders_[piece.worker]->probe_sizes(clip.path);
        };
        auto const take = [&](InOrderPiece const& piece) {
            Found const& found = slots[piece.slot];
            if (found && options_.sign) options_.sign();
            // Otherwise decoding reports the problem.
            if (found && found->has_value()) settle(manifest_.clips[indices[piece.index]], **found);
            return true;
        };
        run_in_order(indices.size(), options_.workers, {.make = make, .take = take});
    }

    void settle(Clip& clip, PictureSizes const& file) {
        auto differs = size_difference({.height = clip.height, .width = clip.width}, file);
        if (differs.empty()) return;
        clip.height = file.shown.height;
        clip.width = file.shown.width;
        clip.probed = true;
        manifest_.resized.push_back({clip.line, clip.path, std::move(differs)});
    }

    Manifest& manifest_;
    Remembered& remembered_;
    ManifestOptions const& options_;
    Decoders const& decoders_;
};

/// What the file adds to a usable row; from any thread.
Result<void> look_at_file(ListedClip& listed, CrashedClips const& crashed, ClipDecoder& decoder) {
    if (!listed.fault.empty()) return {};
    if (crashed.headers_crash(listed.clip.path))
        return Error{Errc::corrupt, std::string(kCrashedText)};
    return fill_gaps(decoder, listed.clip);
}

/// Whether the file is there, and the file system failed or was too slow.
bool is_unreadable(Result<void> const& filled) {
    return filled.has_error() &&
           (filled.error().code == Errc::io || filled.error().code == Errc::timed_out);
}

/// Adds a row, with what came of look_at_file().
void add_row(ListedClip listed, Result<void> filled, ManifestOptions const& options,
             Remembered& remembered, Manifest& manifest) {
    if (options.keep_gone && is_unreadable(filled)) {
        remembered.fill(listed.clip);
        if (says_all(listed.clip))
            filled = Result<void>();  // decoding reports it, if it is still so
    }
    if (listed.fault.empty()) {
        bool const crashed = options.crashed.contains(listed.clip.path);
        if (filled.has_error()) listed.fault = filled.error().message;
        if (crashed && listed.fault.empty()) listed.fault = kCrashedText;
        bool const gone = filled.has_error() && filled.error().code == Errc::not_found;
        bool const stays = crashed || (gone && options.keep_gone);
        if (stays) remembered.fill(listed.clip);
        if (stays && (filled.has_value() || says_all(listed.clip))) {
            manifest.clips.push_back(listed.clip);
            manifest.clips.back().gone = gone;
            manifest.clips.back().crashed = crashed;
        }
    }
    if (listed.fault.empty()) {
        manifest.clips.push_back(std::move(listed.clip));
    } else {
        manifest.skipped.push_back({listed.clip.line, listed.clip.path, listed.fault});
    }
    if (options.sign) options.sign();
}

}  // namespace

Result<Manifest> parse_manifest(std::string_view csv, std::filesystem::path const& folder,
                                ManifestOptions const& options) {
    Manifest manifest;
    Remembered remembered(options.remembered);
    auto const base = std::filesystem::absolute(folder);
    Decoders const decoders = decoders_for(options);
    std::vector<ListedClip> rows;
    auto const add_rows = [&] {
        std::vector<Result<void>> slots(in_order_slots(options.workers));
        auto const make = [&](InOrderPiece const& piece) {
            slots[piece.slot] =
                look_at_file(rows[piece.index], options.crashed, *decoders[piece.worker]);
        };
        auto const take = [&](InOrderPiece const& piece) {
            add_row(std::move(rows[piece.index]), slots[piece.slot], options, remembered, manifest);
            return true;
        };
        run_in_order(rows.size(), options.workers, {.make = make, .take = take});
        rows.clear();
    };
    OSORA_TRY_VOID(plan::read_list_rows(csv, base, options.columns, [&](plan::ListRow row) {
        rows.push_back(listed_clip(std::move(row)));
        if (rows.size() == kRowsAtOnce) add_rows();
    }));
    add_rows();
    OSORA_TRY_VOID(remembered.readable());
    auto const unusable = [](Clip const& clip) { return clip.gone || clip.crashed; };
    if (std::ranges::all_of(manifest.clips, unusable))
        return nothing_usable(manifest.skipped.size(), manifest.skipped.front());
    if (options.check_sizes) ListedSizes(manifest, remembered, options, decoders).check();
    OSORA_TRY_VOID(remembered.readable());
    manifest.fingerprint = fingerprint_of(manifest.clips);
    return manifest;
}

Result<Manifest> read_manifest(std::filesystem::path const& path, ManifestOptions const& options) {
    OSORA_TRY(std::string const csv, read_file(path, plan::kListBytesMax));
    auto manifest = parse_manifest(csv, folder_of(path), options);
    if (manifest.has_error()) return std::move(manifest).error().in(path.string());
    return manifest;
}

Result<void> remember_clips(Manifest const& manifest, std::filesystem::path const& file) {
    if (std::ranges::none_of(manifest.clips, &Clip::probed)) return {};
    Remembered remembered(file);
    bool changed = false;
    for (Clip const& clip : manifest.clips) {
        if (clip.probed) changed = remembered.all().emplace(clip.path, clip).second || changed;
    }
    OSORA_TRY_VOID(remembered.readable());
    if (!changed) return {};
    std::string csv = "path,num_frames,height,width,fps\n";
    for (auto const& [path, clip] : remembered.all()) {
        csv += fmt::format("{},{},{},{},{}\n", csv_field(path), clip.num_frames, clip.height,
                           clip.width, clip.fps);
    }
    std::error_code ignored;  // writing reports the problem
    std::filesystem::create_directories(file.parent_path(), ignored);
    return write_file_atomic(file, csv);
}

Result<std::vector<ListedClip>> list_clips(std::filesystem::path const& path,
                                           plan::ColumnNames const& columns) {
    OSORA_TRY(std::string const csv, read_file(path, plan::kListBytesMax));
    std::vector<ListedClip> clips;
    auto const base = std::filesystem::absolute(folder_of(path));
    auto done = plan::read_list_rows(csv, base, columns, [&](plan::ListRow row) {
        clips.push_back(listed_clip(std::move(row)));
    });
    if (done.has_error()) return std::move(done).error().in(path.string());
    return clips;
}

}  // namespace osora::worker
