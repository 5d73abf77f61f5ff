#include "worker/jobs/score/score_shards.hpp"

#include "base/files/files.hpp"
#include "base/files/regular_file.hpp"
#include "base/files/write_whole.hpp"
#include "base/sha256.hpp"
#include "base/text/text.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <optional>
#include <system_error>
#include <utility>

namespace osora::worker {
namespace {

constexpr std::size_t kSumDigits = 16;
constexpr std::int64_t kShardBytesMax = std::int64_t{16} << 30;
constexpr std::string_view kExtension = ".rows";

std::string first_line(ScoreKey const& key) {
    return fmt::format("osora.score_rows/1 {}{}{}\n", key.list, key.models.empty() ? "" : " ",
                       key.models);
}

/// The models of the rows of `list`, as in ScoreKey; nothing if the file is of another list, or cut
/// in its first line.
std::optional<std::string_view> models_of(std::string_view text, std::string const& list) {
    auto const end = text.find('\n');
    std::string const start = first_line({.list = list, .models = {}});
    std::string_view const same = std::string_view(start).substr(0, start.size() - 1);
    if (end == std::string_view::npos || !text.starts_with(same)) return std::nullopt;
    return trimmed(text.substr(same.size(), end - same.size()));
}

std::string sum_of(std::string_view row) {
    return sha256_hex(row).substr(0, kSumDigits);
}

struct Header {
    std::size_t index = 0, bytes = 0;
    std::string_view sum;
};

std::optional<Header> header_of(std::string_view line) {
    auto const words = split(line, ' ');
    if (words.size() != 3 || words[2].size() != kSumDigits) return std::nullopt;
    auto const index = whole_number<std::size_t>(words[0]);
    auto const bytes = whole_number<std::size_t>(words[1]);
    if (!index || !bytes) return std::nullopt;
    return Header{.index = *index, .bytes = *bytes, .sum = words[2]};
}

/// Adds the rows of one file. A damaged record costs what follows it up to the next header.
void add_rows(std::string_view text, std::size_t start, int file, ShardIndex& index) {
    for (std::size_t at = start; at < text.size();) {
        auto const end = text.find('\n', at);
        if (end == std::string_view::npos) return;
        auto const header = header_of(text.substr(at, end - at));
        at = end + 1;
        if (!header || header->index >= index.places.size() || header->bytes > text.size() - at ||
            header->bytes > std::numeric_limits<std::int32_t>::max()) {
            continue;
        }
        auto const row = text.substr(at, header->bytes);
        if (sum_of(row) != header->sum) continue;
        auto& place = index.places[header->index];
        if (place.file < 0) ++index.rows;
        place = {.file = file,
                 .bytes = static_cast<std::int32_t>(header->bytes),
                 .at = static_cast<std::int64_t>(at)};
        at += header->bytes;
    }
}

Result<std::string> bytes_at(Descriptor const& file, ShardIndex::Place const& place,
                             std::filesystem::path const& path) {
    std::string row(static_cast<std::size_t>(place.bytes), '\0');
    std::size_t done = 0;
    while (done < row.size()) {
        auto const got = ::pread(file.get(), row.data() + done, row.size() - done,
                                 static_cast<off_t>(place.at) + static_cast<off_t>(done));
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return file_error(got < 0 ? errno : EIO, "read", path);
        done += static_cast<std::size_t>(got);
    }
    return row;
}

}  // namespace

ScoreKey score_key(std::vector<ListedClip> const& clips, AskedScores const& asked) {
    Sha256 sum;
    auto const add = [&sum](std::string_view text) {
        std::string const framed = fmt::format("{} {}", text.size(), text);
        sum.add({reinterpret_cast<unsigned char const*>(framed.data()), framed.size()});
    };
    for (std::string const& column : asked.columns()) add(column);
    add(std::to_string(asked.frames));
    for (ListedClip const& each : clips) {
        add(each.name);
        add(each.clip.path);
        add(each.fault);
    }
    ScoreKey key{.list = sum.finish(), .models = {}};
    for (auto const& each : asked.models)
        key.models += fmt::format("{}{}={}", key.models.empty() ? "" : " ", each.score, each.hash);
    return key;
}

Result<ShardWriter> ShardWriter::open(std::filesystem::path const& folder, ScoreKey const& key,
                                      int attempt, int rank) {
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error) return file_error(error.value(), "create", folder);
    auto path = folder / fmt::format("{}-{}{}", attempt, rank, kExtension);
    OSORA_TRY(auto file, open_private(path, O_WRONLY | O_APPEND));
    struct stat info {};
    bool const fresh = ::fstat(file.get(), &info) == 0 && info.st_size == 0;
    ShardWriter writer(std::move(path), std::move(file));
    writer.waiting_ = fresh ? first_line(key) : "\n";  // a cut line ends
    OSORA_TRY_VOID(writer.sync());
    OSORA_TRY_VOID(sync_directory(folder));
    return writer;
}

void ShardWriter::add(std::size_t index, ScoreRow const& row) {
    std::string const line = score_line(row);
    waiting_ += fmt::format("{} {} {}\n{}\n", index, line.size(), sum_of(line), line);
}

Result<void> ShardWriter::sync() {
    std::string const text = std::exchange(waiting_, {});
    OSORA_TRY_VOID(write_whole(file_.get(), text, path_));
    if (::fdatasync(file_.get()) != 0) return file_error(errno, "sync", path_);
    return {};
}

Result<ShardIndex> read_shards(std::filesystem::path const& folder, ScoreKey const& key,
                               std::size_t clips) {
    ShardIndex index;
    index.places.resize(clips);
    std::error_code error;
    if (!std::filesystem::exists(folder, error)) return index;
    for (auto each = std::filesystem::directory_iterator(folder, error);
         !error && each != std::filesystem::directory_iterator(); each.increment(error)) {
        if (each->path().extension() == kExtension) index.files.push_back(each->path());
    }
    if (error) return file_error(error.value(), "read", folder);
    std::ranges::sort(index.files);
    std::string const first = first_line(key);
    for (std::size_t i = 0; i < index.files.size(); ++i) {
        OSORA_TRY(std::string const text, read_file(index.files[i], kShardBytesMax));
        auto const models = models_of(text, key.list);
        if (!models) continue;
        if (*models != key.models) {
            return invalid(fmt::format(
                "{} has rows of other models ({}; the files are {} now): put the files back, or "
                "score in a new run",
                index.files[i].string(), *models, key.models));
        }
        add_rows(text, first.size(), static_cast<int>(i), index);
    }
    return index;
}

Result<void> merge_shards(ShardIndex const& index, std::string_view header,
                          std::filesystem::path const& output) {
    std::vector<Descriptor> files;
    for (auto const& path : index.files) {
        OSORA_TRY(auto file, open_regular(path));
        files.push_back(std::move(file));
    }
    OSORA_TRY(auto made, NewFile::create(output));
    constexpr std::size_t kWriteBytes = 1 << 20;
    std::string text(header);
    for (std::size_t i = 0; i < index.places.size(); ++i) {
        auto const& place = index.places[i];
        if (place.file < 0) {
            return Error{Errc::corrupt,
                         fmt::format("row {} of the list has no scores: rows of the run directory "
                                     "are lost; osora resume scores them again",
                                     i + 1)};
        }
        auto const file = static_cast<std::size_t>(place.file);
        OSORA_TRY(std::string const row, bytes_at(files[file], place, index.files[file]));
        text += row;
        if (text.size() < kWriteBytes) continue;
        OSORA_TRY_VOID(made.write(text));
        text.clear();
    }
    OSORA_TRY_VOID(made.write(text));
    return made.replace();
}

}  // namespace osora::worker
