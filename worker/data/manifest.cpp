// Manifest rows to clips: columns by name, numbers checked, gaps filled from the files.
#include "worker/data/manifest.hpp"

#include "base/files/files.hpp"
#include "base/text/csv.hpp"
#include "plan/buckets/hash.hpp"
#include "plan/buckets/list_rows.hpp"
#include "worker/data/frames/decoder.hpp"
#include "worker/data/listed_size.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>

namespace osora::worker {
namespace {

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
        return Error{Errc::io, error ? error.message() : "not a regular file"};
    }
    if (says_all(clip)) return {};
    OSORA_TRY(ClipFacts const facts, decoder.probe(clip.path));
    if (clip.num_frames == 0) clip.num_frames = facts.num_frames;
    if (clip.height == 0) clip.height = facts.height;
    if (clip.width == 0) clip.width = facts.width;
    if (clip.fps == 0.0) clip.fps = facts.fps;
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

private:
    void load() {
        read_ = true;
        if (file_.empty()) return;
        auto listed = list_clips(file_);
        if (listed.has_error()) return;  // an earlier start wrote none
        for (ListedClip& each : *listed) {
            if (each.fault.empty()) clips_.emplace(each.clip.path, std::move(each.clip));
        }
    }

    std::filesystem::path file_;
    bool read_ = false;
    std::map<std::string, Clip> clips_;
};

/// Listed sizes against the files.
class ListedSizes {
public:
    ListedSizes(Manifest& manifest, Remembered& remembered, ManifestOptions const& options,
                ClipDecoder& decoder)
        : manifest_(manifest), remembered_(remembered), options_(options), decoder_(decoder) {}

    void check() {
        for (Clip& clip : manifest_.clips) recall(clip);
        for (std::size_t const index : drawn()) look(manifest_.clips[index]);
        if (manifest_.resized.empty()) return;
        for (Clip& clip : manifest_.clips) look(clip);
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

    void look(Clip& clip) {
        if (clip.gone || options_.crashed.headers_crash(clip.path)) return;
        auto const file = decoder_.probe_sizes(clip.path);
        if (options_.sign) options_.sign();
        if (file) settle(clip, *file);  // otherwise decoding reports the problem
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
    ClipDecoder& decoder_;
};

Error nothing_usable(Manifest const& manifest) {
    SkippedRow const& first = manifest.skipped.front();
    return {Errc::invalid_input,
            fmt::format("none of its {} rows can be used; the first, line {} ({}): {}",
                        manifest.skipped.size(), first.line, first.path, first.reason)};
}

}  // namespace

Result<Manifest> parse_manifest(std::string_view csv, std::filesystem::path const& folder,
                                ManifestOptions const& options) {
    Manifest manifest;
    Remembered remembered(options.remembered);
    ClipDecoder decoder({.deadline_s = options.probe_deadline_s});
    auto const base = std::filesystem::absolute(folder);
    OSORA_TRY_VOID(plan::read_list_rows(csv, base, options.columns, [&](plan::ListRow row) {
        ListedClip listed = listed_clip(std::move(row));
        if (listed.fault.empty()) {
            bool const crashed = options.crashed.contains(listed.clip.path);
            auto const filled = options.crashed.headers_crash(listed.clip.path)
                                    ? Result<void>(Error{Errc::corrupt, std::string(kCrashedText)})
                                    : fill_gaps(decoder, listed.clip);
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
    }));
    auto const unusable = [](Clip const& clip) { return clip.gone || clip.crashed; };
    if (std::ranges::all_of(manifest.clips, unusable)) return nothing_usable(manifest);
    if (options.check_sizes) ListedSizes(manifest, remembered, options, decoder).check();
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
