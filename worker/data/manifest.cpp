// Manifest rows to clips: columns by name, numbers checked, gaps filled from the files.
#include "worker/data/manifest.hpp"

#include "base/csv.hpp"
#include "base/files.hpp"
#include "plan/buckets/hash.hpp"
#include "worker/data/decoder.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>

namespace osora::worker {
namespace {

enum Column : std::size_t { kPath, kText, kNumFrames, kHeight, kWidth, kFps, kColumnCount };
constexpr std::array<std::string_view, kColumnCount> kNames{"path",   "text",  "num_frames",
                                                            "height", "width", "fps"};
constexpr std::int64_t kManifestBytesMax = std::int64_t{1} << 30;

using Places = std::array<std::optional<std::size_t>, kColumnCount>;

Result<Places> find_columns(std::vector<std::string> const& header) {
    Places places;
    for (std::size_t i = 0; i < header.size(); ++i) {
        auto const* name = std::ranges::find(kNames, std::string_view(header[i]));
        if (name == kNames.end()) continue;  // ours to ignore
        auto& place = places[static_cast<std::size_t>(name - kNames.begin())];
        if (place) {
            return Error{Errc::invalid_input,
                         fmt::format("line 1: column \"{}\" is given twice", header[i])};
        }
        place = i;
    }
    if (!places[kPath]) {
        return Error{Errc::invalid_input,
                     fmt::format("line 1: no \"path\" column; the first line must name the "
                                 "columns, it has: {}",
                                 fmt::join(header, ", "))};
    }
    return places;
}

/// A number as pandas may write it ("51", "51.0"); 0 where there is none ("", "nan").
Result<double> number(std::string_view name, std::string const& field) {
    if (field.empty() || field == "nan" || field == "NaN") return 0.0;
    double value = 0.0;
    auto const [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
    bool const whole = end == field.data() + field.size();
    if (error != std::errc{} || !whole || !std::isfinite(value) || value <= 0.0) {
        return Error{Errc::invalid_input,
                     fmt::format("{} \"{}\" is not a positive number", name, field)};
    }
    return value;
}

Result<int> count(std::string_view name, std::string const& field) {
    OSORA_TRY(double const value, number(name, field));
    if (value != std::floor(value) || value > 1e9) {
        return Error{Errc::invalid_input,
                     fmt::format("{} \"{}\" is not a whole number below 1e9", name, field)};
    }
    return static_cast<int>(value);
}

class RowReader {
public:
    RowReader(Places places, std::size_t width, std::filesystem::path folder)
        : places_(places), width_(width), folder_(std::move(folder)) {}

    [[nodiscard]] ListedClip read(CsvRow const& row) const {
        ListedClip listed{.clip = {}, .name = field(row, kPath), .fault = {}};
        auto clip = clip_of(row);
        if (clip) {
            listed.clip = std::move(*clip);
        } else {
            listed.clip.line = row.line;
            listed.clip.path = path_of(row);
            listed.fault = clip.error().message;
        }
        return listed;
    }

private:
    [[nodiscard]] std::string field(CsvRow const& row, Column column) const {
        auto const& place = places_[column];
        return place && *place < row.fields.size() ? row.fields[*place] : std::string();
    }

    [[nodiscard]] std::string path_of(CsvRow const& row) const {
        std::string const name = field(row, kPath);
        return name.empty() ? name : (folder_ / name).lexically_normal().string();
    }

    [[nodiscard]] Result<Clip> clip_of(CsvRow const& row) const {
        if (!row.fault.empty()) return Error{Errc::invalid_input, row.fault};
        if (row.fields.size() != width_) {
            return Error{Errc::invalid_input, fmt::format("it has {} fields, the header has {}",
                                                          row.fields.size(), width_)};
        }
        Clip clip{.path = path_of(row), .text = field(row, kText), .line = row.line};
        if (clip.path.empty()) return Error{Errc::invalid_input, "the path is empty"};
        OSORA_TRY(clip.num_frames, count("num_frames", field(row, kNumFrames)));
        OSORA_TRY(clip.height, count("height", field(row, kHeight)));
        OSORA_TRY(clip.width, count("width", field(row, kWidth)));
        OSORA_TRY(clip.fps, number("fps", field(row, kFps)));
        return clip;
    }

    Places places_;
    std::size_t width_;
    std::filesystem::path folder_;
};

Result<void> fill_gaps(ClipDecoder& decoder, Clip& clip) {
    std::error_code error;
    auto const status = std::filesystem::status(clip.path, error);
    if (status.type() == std::filesystem::file_type::not_found) {
        return Error{Errc::not_found, "no such file"};
    }
    if (status.type() != std::filesystem::file_type::regular) {
        return Error{Errc::io, error ? error.message() : "not a regular file"};
    }
    bool const sized = clip.num_frames > 0 && clip.height > 0 && clip.width > 0;
    if (sized && (clip.fps > 0.0 || clip.num_frames == 1)) return {};
    OSORA_TRY(ClipFacts const facts, decoder.probe(clip.path));
    if (clip.num_frames == 0) clip.num_frames = facts.num_frames;
    if (clip.height == 0) clip.height = facts.height;
    if (clip.width == 0) clip.width = facts.width;
    if (clip.fps == 0.0) clip.fps = facts.fps;
    return {};
}

Error no_clip() {
    return {Errc::invalid_input, "it lists no clip; add one line a clip below the header"};
}

/// Hands each row on as it is read: a manifest may have millions.
template <class Take>
Result<void> read_rows(std::string_view csv, std::filesystem::path const& folder, Take take) {
    CsvReader reader(csv);
    auto const header = reader.next();
    if (!header) {
        return Error{Errc::invalid_input,
                     "it is empty; the first line must name the columns, "
                     "and \"path\" is one"};
    }
    if (!header->fault.empty()) return Error{Errc::invalid_input, "line 1: " + header->fault};
    OSORA_TRY(Places const places, find_columns(header->fields));
    RowReader const rows(places, header->fields.size(), std::filesystem::absolute(folder));
    while (auto const row = reader.next()) take(rows.read(*row));
    return {};
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

Error nothing_usable(Manifest const& manifest) {
    if (manifest.skipped.empty()) return no_clip();
    SkippedRow const& first = manifest.skipped.front();
    return {Errc::invalid_input,
            fmt::format("none of its {} rows can be used; the first, line {} ({}): {}",
                        manifest.skipped.size(), first.line, first.path, first.reason)};
}

}  // namespace

Result<Manifest> parse_manifest(std::string_view csv, std::filesystem::path const& folder,
                                ManifestOptions const& options) {
    Manifest manifest;
    ClipDecoder decoder({.deadline_s = options.probe_deadline_s});
    OSORA_TRY_VOID(read_rows(csv, folder, [&](ListedClip listed) {
        if (listed.fault.empty()) {
            auto const filled = fill_gaps(decoder, listed.clip);
            if (filled.has_error()) listed.fault = filled.error().message;
        }
        if (listed.fault.empty()) {
            manifest.clips.push_back(std::move(listed.clip));
        } else {
            manifest.skipped.push_back({listed.clip.line, listed.clip.path, listed.fault});
        }
    }));
    if (manifest.clips.empty()) return nothing_usable(manifest);
    manifest.fingerprint = fingerprint_of(manifest.clips);
    return manifest;
}

Result<Manifest> read_manifest(std::filesystem::path const& path, ManifestOptions const& options) {
    OSORA_TRY(std::string const csv, read_file(path, kManifestBytesMax));
    auto manifest = parse_manifest(csv, folder_of(path), options);
    if (manifest.has_error()) return std::move(manifest).error().in(path.string());
    return manifest;
}

Result<std::vector<ListedClip>> list_clips(std::filesystem::path const& path) {
    OSORA_TRY(std::string const csv, read_file(path, kManifestBytesMax));
    std::vector<ListedClip> clips;
    auto done = read_rows(csv, folder_of(path),
                          [&](ListedClip listed) { clips.push_back(std::move(listed)); });
    if (done && clips.empty()) done = no_clip();
    if (done.has_error()) return std::move(done).error().in(path.string());
    return clips;
}

}  // namespace osora::worker
