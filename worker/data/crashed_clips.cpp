#include "worker/data/crashed_clips.hpp"

#include "base/files/files.hpp"
#include "plan/buckets/hash.hpp"
#include "worker/data/clip_in_hand.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <system_error>

namespace osora::worker {
namespace {

constexpr char const* kCrashFolder = "crashed-clips";
constexpr std::int64_t kNotesBytesMax = 1 << 20;

/// Even, and never 0: the last bit is that of the part.
std::int64_t number_of_path(std::string_view path) {
    std::uint64_t hash = plan::mix64(path.size());
    for (char const c : path) hash = plan::mix64(hash ^ static_cast<unsigned char>(c));
    auto const even = static_cast<std::int64_t>(hash & ~std::uint64_t{1});
    return even == 0 ? 2 : even;
}

void sort_unique(std::vector<std::int64_t>& numbers) {
    std::ranges::sort(numbers);
    auto const rest = std::ranges::unique(numbers);
    numbers.erase(rest.begin(), rest.end());
}

/// "11 f /data/a.mp4": the path; empty: it is no such note.
std::string_view path_in(std::string_view note, ClipPart part) {
    auto const space = note.find(' ');
    if (space == note.npos || note.size() < space + 4) return {};
    bool const is_of_part = note[space + 1] == static_cast<char>(part) && note[space + 2] == ' ';
    return is_of_part ? note.substr(space + 3) : std::string_view();
}

void add_notes(std::string_view text, CrashedClips& found) {
    for (std::size_t end = 0; (end = text.find('\0')) != text.npos; text.remove_prefix(end + 1)) {
        auto const note = text.substr(0, end);
        auto const headers = path_in(note, ClipPart::headers);
        auto const frames = path_in(note, ClipPart::frames);
        if (!headers.empty()) found.in_headers.push_back(number_of_path(headers));
        if (!frames.empty()) found.in_frames.push_back(number_of_path(frames));
    }
}

}  // namespace

bool CrashedClips::headers_crash(std::string_view path) const {
    return !in_headers.empty() && std::ranges::binary_search(in_headers, number_of_path(path));
}

bool CrashedClips::contains(std::string_view path) const {
    if (empty()) return false;
    return headers_crash(path) || std::ranges::binary_search(in_frames, number_of_path(path));
}

std::vector<std::int64_t> CrashedClips::numbers() const {
    std::vector<std::int64_t> all = in_frames;
    for (auto const each : in_headers) all.push_back(each | 1);
    return all;
}

CrashedClips CrashedClips::of(std::vector<std::int64_t> const& numbers) {
    CrashedClips found;
    for (auto const each : numbers) {
        if (each == 0) continue;
        auto& part = (each & 1) != 0 ? found.in_headers : found.in_frames;
        part.push_back(each & ~std::int64_t{1});
    }
    sort_unique(found.in_headers);
    sort_unique(found.in_frames);
    return found;
}

std::filesystem::path crash_file_of(std::filesystem::path const& run_dir, int attempt, int rank) {
    if (run_dir.empty()) return {};
    return run_dir / kCrashFolder / fmt::format("{}-{}", attempt, rank);
}

CrashedClips read_crashed_clips(std::filesystem::path const& run_dir) {
    CrashedClips found;
    if (run_dir.empty()) return found;
    std::error_code error;
    std::filesystem::directory_iterator each(run_dir / kCrashFolder, error);
    for (; !error && each != std::filesystem::directory_iterator(); each.increment(error)) {
        auto const text = read_file(each->path(), kNotesBytesMax);
        if (text.has_value()) add_notes(*text, found);
    }
    sort_unique(found.in_headers);
    sort_unique(found.in_frames);
    return found;
}

}  // namespace osora::worker
