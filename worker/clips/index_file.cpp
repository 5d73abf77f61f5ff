#include "worker/clips/index_file.hpp"

#include "base/files/files.hpp"
#include "base/files/regular_file.hpp"
#include "base/files/write_whole.hpp"
#include "base/sha256.hpp"
#include "base/text/text.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>

namespace osora::worker {
namespace {

constexpr std::string_view kIndexSchema = "osora.clip_index/1";
constexpr std::string_view kIndexStart = R"({"schema":"osora.clip_index/)";
constexpr std::string_view kSumStart = R"({"sha256":")", kClipStart = R"(","clip":)";
constexpr std::size_t kSumDigits = 16;
constexpr std::int64_t kIndexBytesMax = std::int64_t{16} << 30;

/// The row's text in a line, if its checksum is right.
std::string_view row_text(std::string_view line) {
    constexpr std::size_t kHead = kSumStart.size() + kSumDigits + kClipStart.size();
    if (line.size() <= kHead || !line.starts_with(kSumStart) || !line.ends_with('}')) return {};
    std::string_view const sum = line.substr(kSumStart.size(), kSumDigits);
    if (line.substr(kSumStart.size() + kSumDigits, kClipStart.size()) != kClipStart) return {};
    std::string_view const text = line.substr(kHead, line.size() - kHead - 1);
    return sha256_hex(text).starts_with(sum) ? text : std::string_view();
}

}  // namespace

std::string index_header() {
    return fmt::format("{{\"schema\":\"{}\"}}\n", kIndexSchema);
}

std::string index_line(protocol::ClipIndexRow const& row) {
    std::string const text = protocol::encode(row);
    return fmt::format("{}{}{}{}}}\n", kSumStart, sha256_hex(text).substr(0, kSumDigits),
                       kClipStart, text);
}

Result<IndexText> parse_index(std::string_view text) {
    IndexText index;
    std::string const header = index_header();
    if (!text.starts_with(header)) {
        if (header.starts_with(text)) {  // empty, or cut in its first line
            index.damaged_lines = text.empty() ? 0 : 1;
            return index;
        }
        bool const other_version = text.starts_with(kIndexStart);
        return invalid(fmt::format("{}; remove it, or name another file with --index",
                                   other_version
                                       ? fmt::format("an index of another version than {}, which "
                                                     "this osora writes",
                                                     kIndexSchema)
                                       : std::string("not an index of osora")));
    }
    text.remove_prefix(header.size());
    each_line(text, [&](std::string_view line) {
        std::string_view const row = row_text(line);
        auto read = row.empty() ? Result<protocol::ClipIndexRow>(invalid("cut"))
                                : protocol::decode<protocol::ClipIndexRow>(row);
        if (read.has_error()) {
            ++index.damaged_lines;
            return;
        }
        std::string path = read->path;
        index.rows.insert_or_assign(std::move(path), std::move(*read));
    });
    if (!text.empty() && !text.ends_with('\n') && index.damaged_lines == 0)
        index.damaged_lines = 1;  // nothing may be appended to this line
    return index;
}

Result<IndexFile> IndexFile::open(std::filesystem::path const& path) {
    auto lock = FileLock::acquire(path.string() + ".lock");
    if (lock.has_error()) return std::move(lock).error().in("index");
    IndexText had;
    bool const exists = std::filesystem::exists(std::filesystem::symlink_status(path));
    if (exists) {
        OSORA_TRY_VOID(check_regular(path));
        OSORA_TRY(std::string const text, read_file(path, kIndexBytesMax));
        auto parsed = parse_index(text);
        if (parsed.has_error()) return std::move(parsed).error().in(path.string());
        had = std::move(*parsed);
        if (text.empty()) had.damaged_lines = 0;
    }
    bool const rewrite = !exists || had.damaged_lines > 0 || had.rows.empty();
    if (rewrite) {
        OSORA_TRY(auto fresh, NewFile::create(path));
        OSORA_TRY_VOID(fresh.write(index_header()));
        for (auto const& [name, row] : had.rows) OSORA_TRY_VOID(fresh.write(index_line(row)));
        OSORA_TRY_VOID(fresh.replace());
    }
    IndexFile index(path, std::move(*lock), std::move(had));
    OSORA_TRY(index.file_, open_private(path, O_WRONLY | O_APPEND));
    return index;
}

Result<void> IndexFile::append(protocol::ClipIndexRow const& row) {
    return write_whole(file_.get(), index_line(row), path_);
}

Result<void> IndexFile::finish() {
    if (::fsync(file_.get()) != 0 && errno != EINVAL) return file_error(errno, "sync", path_);
    return {};
}

}  // namespace osora::worker
