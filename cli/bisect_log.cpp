#include "cli/bisect_log.hpp"

#include "base/files.hpp"
#include "db/sha256.hpp"
#include "protocol/json.hpp"

#include <fmt/format.h>

#include <optional>
#include <system_error>
#include <utility>

namespace osora::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kVersion = 1;

struct Document {
    int version = 0;
    BisectQuestion question;
    std::vector<LoggedTrial> trials;
    std::optional<db::InvestigationEnd> ended = {};
};
BOOST_DESCRIBE_STRUCT(Document, (), (version, question, trials, ended))

Result<std::vector<LoggedTrial>> read_trials(fs::path const& path, BisectQuestion const& question) {
    constexpr std::int64_t kBytesMax = 64 << 20;
    OSORA_TRY(auto const text, read_file(path, kBytesMax));
    auto document = protocol::decode<Document>(text);
    if (document.has_error()) {
        return Error{Errc::corrupt, fmt::format("{}; --anew measures again",
                                                document.error().in(path.string()).message)};
    }
    if (document->version != kVersion || document->question != question) {
        return Error{Errc::corrupt, fmt::format("{}: of another version or question; --anew "
                                                "measures again",
                                                path.string())};
    }
    return std::move(document->trials);
}

}  // namespace

std::string bits_of(std::vector<bool> const& flipped) {
    std::string bits;
    for (bool const bit : flipped) bits += bit ? '1' : '0';
    return bits;
}

Result<BisectLog> BisectLog::open(fs::path const& state, BisectQuestion const& question,
                                  bool anew) {
    constexpr std::size_t kIdDigits = 6;
    auto const folder = state / "bisects";
    std::error_code error;
    fs::create_directories(folder, error);
    if (error) return file_error(error.value(), "make", folder);
    auto const id = db::sha256_hex(protocol::encode(question)).substr(0, kIdDigits);
    auto lock = FileLock::acquire(folder / (id + ".lock"));
    if (lock.has_error()) {
        return std::move(lock).error().in("another osora bisect asks the same");
    }
    BisectLog log(std::move(*lock), folder / (id + ".json"), question);
    log.id_ = id;
    if (!anew && fs::exists(log.path_, error)) {
        OSORA_TRY(log.trials_, read_trials(log.path_, question));
    }
    return log;
}

Result<void> BisectLog::add(LoggedTrial trial) {
    trials_.push_back(std::move(trial));
    Document const document{kVersion, question_, trials_};
    return write_file_atomic(path_, protocol::encode(document) + "\n", 0600);
}

Result<void> BisectLog::end(db::InvestigationEnd const& end) {
    Document const document{kVersion, question_, trials_, end};
    return write_file_atomic(path_, protocol::encode(document) + "\n", 0600);
}

}  // namespace osora::cli
