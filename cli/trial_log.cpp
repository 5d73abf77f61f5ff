#include "cli/trial_log.hpp"

#include "base/files.hpp"
#include "db/sha256.hpp"

#include <fmt/format.h>
#include <boost/describe.hpp>

#include <system_error>

namespace osora::cli {
namespace {

namespace fs = std::filesystem;
namespace json = protocol::json;

constexpr int kVersion = 1;

struct Document {
    int version = 0;
    json::value question;
    std::vector<json::value> trials;
};
BOOST_DESCRIBE_STRUCT(Document, (), (version, question, trials))

Result<std::vector<json::value>> read_trials(fs::path const& path, json::value const& question) {
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

Result<TrialLog> TrialLog::open(fs::path const& folder, json::value question, bool anew) {
    constexpr std::size_t kIdDigits = 6;
    std::error_code error;
    fs::create_directories(folder, error);
    if (error) return file_error(error.value(), "make", folder);
    auto const id = db::sha256_hex(json::serialize(question)).substr(0, kIdDigits);
    auto lock = FileLock::acquire(folder / (id + ".lock"));
    if (lock.has_error()) return std::move(lock).error().in("another osora asks the same");
    TrialLog log(std::move(*lock), folder / (id + ".json"), std::move(question));
    log.id_ = id;
    if (!anew && fs::exists(log.path_, error)) {
        OSORA_TRY(log.trials_, read_trials(log.path_, log.question_));
    }
    return log;
}

Result<void> TrialLog::add(json::value trial) {
    trials_.push_back(std::move(trial));
    Document const document{kVersion, question_, trials_};
    return write_file_atomic(path_, protocol::encode(document) + "\n", 0600);
}

fs::path TrialLog::run_file() const {
    return fs::path(path_).replace_extension(".toml");
}

}  // namespace osora::cli
