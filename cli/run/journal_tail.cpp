// Polls with plain reads, which work on every file system; change notices do not work on network
// ones.
#include "cli/run/journal_tail.hpp"

#include "base/files/files.hpp"
#include "base/files/regular_file.hpp"

#include <unistd.h>

#include <cerrno>
#include <string>

namespace osora::cli {

Result<std::vector<protocol::JournalRecord>> JournalTail::read() {
    constexpr std::size_t kPiece = 1u << 22;
    if (!open_.is_open()) {
        auto opened = open_regular(file_);
        bool const missing = opened.has_error() && opened.error().code == Errc::not_found;
        if (missing) return std::vector<protocol::JournalRecord>();
        if (opened.has_error()) return std::move(opened).error();
        open_ = std::move(*opened);
    }
    std::string bytes(kPiece, '\0');
    ssize_t got = 0;
    do {
        got = ::read(open_.get(), bytes.data(), bytes.size());
    } while (got < 0 && errno == EINTR);
    if (got < 0) return file_error(errno, "read", file_);
    bytes.resize(static_cast<std::size_t>(got));
    auto records = reader_.feed(bytes);
    if (records.has_error()) return std::move(records).error().in(file_.string());
    return records;
}

Result<protocol::RunView> read_view(std::filesystem::path const& journal) {
    JournalTail tail(journal);
    protocol::RunView view;
    while (true) {
        OSORA_TRY(auto const records, tail.read());
        if (records.empty()) return view;
        for (auto const& each : records) fold(view, each);
    }
}

}  // namespace osora::cli
