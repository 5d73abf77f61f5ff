// Opens history.db: settings, schema. The order matters: the owner is checked before anything is
// written.
#include "db/store/store.hpp"

#include "base/files/descriptor.hpp"
#include "db/store/connection_internal.hpp"
#include "db/store/migrate.hpp"
#include "protocol/state_paths.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <system_error>
#include <thread>
#include <utility>

namespace osora::db {
namespace {

std::string text_pragma(Connection& connection, char const* sql) {
    return connection.database().execAndGet(sql).getString();
}

/// Closes an old file of this user to others; uses O_PATH, because closing any other descriptor of
/// a database would drop this program's locks on it.
bool close_to_others(std::filesystem::path const& file) {
    Descriptor const there(::open(file.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    struct stat facts {};
    if (!there.is_open() || ::fstat(there.get(), &facts) != 0) return false;
    bool const is_open = S_ISREG(facts.st_mode) && (facts.st_mode & (S_IRWXG | S_IRWXO)) != 0;
    if (!is_open || facts.st_uid != ::geteuid()) return false;
    return ::chmod(fmt::format("/proc/self/fd/{}", there.get()).c_str(), kPrivate) == 0;
}

/// The side files of a database that was open to others, and the old databases kept beside it.
void close_beside(std::filesystem::path const& file) {
    std::error_code ignored;
    std::string const name = file.filename().string();
    for (auto const& each : std::filesystem::directory_iterator(file.parent_path(), ignored)) {
        if (each.path().filename().string().starts_with(name)) close_to_others(each.path());
    }
}

/// Creates a new database here, with the mode that SQLite then gives its side files. Refuses
/// another user's link, which would redirect the data.
Result<void> make_private(std::filesystem::path const& file) {
    struct stat facts {};
    if (::lstat(file.c_str(), &facts) != 0) {
        // SQLite reports errors itself.
        Descriptor const made(
            ::open(file.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kPrivate));
        return {};
    }
    if (S_ISLNK(facts.st_mode) && facts.st_uid != ::geteuid()) {
        return Error{Errc::io, fmt::format("{}: is a link of uid {}; remove it", file.string(),
                                           facts.st_uid)};
    }
    if (close_to_others(file)) close_beside(file);
    return {};
}

/// Only if it differs: a change needs exclusive access to the file.
void set_journal_mode(Connection& connection, std::string const& wanted) {
    if (text_pragma(connection, "PRAGMA journal_mode") == wanted) return;
    text_pragma(connection, ("PRAGMA journal_mode=" + wanted).c_str());
}

/// Has an effect only before the first table; later it would need the write lock. `osora history
/// vacuum` converts older files.
void choose_vacuum(Connection& connection) {
    auto& database = connection.database();
    if (database.execAndGet("SELECT count(*) FROM sqlite_master").getInt() > 0) return;
    database.exec("PRAGMA auto_vacuum=INCREMENTAL");
}

void configure(Connection& connection) {
    auto& database = connection.database();
    database.exec("PRAGMA foreign_keys=ON");
    database.exec("PRAGMA synchronous=FULL");
    database.exec("PRAGMA wal_autocheckpoint=2000");
    database.exec("PRAGMA journal_size_limit=67108864");
    database.exec("PRAGMA temp_store=MEMORY");
}

Result<void> prepare(Connection& connection, StoreOptions const& options) {
    std::string mode = "memory";
    if (auto const& file = connection.file(); !file.empty()) {
        OSORA_TRY(bool const on_network, options.on_network(file.parent_path()));
        mode = on_network ? "delete" : "wal";
    }
    auto const once = [&] {
        return guarded(connection, "open history", [&]() -> Result<void> {
            OSORA_TRY_VOID(check_owner(connection));
            choose_vacuum(connection);
            set_journal_mode(connection, mode);
            configure(connection);
            return migrate(connection);
        });
    };
    // SQLite's busy timeout does not apply to a change of the journal mode: programs that create
    // the file at the same time collide there, and each step can simply be repeated.
    auto const deadline = std::chrono::steady_clock::now() + options.busy_wait;
    auto prepared = once();
    while (prepared.has_error() && prepared.error().code == Errc::busy &&
           std::chrono::steady_clock::now() < deadline) {
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        prepared = once();
    }
    return prepared;
}

/// The last connection to close does this by itself, but a program that has the history open for
/// days would leave a large WAL. This does not wait: if a reader still needs the WAL, it stays
/// until the next close.
void empty_wal(Connection& connection) {
    constexpr std::uintmax_t kBytesAtRest = 4 << 20;
    if (connection.file().empty()) return;
    std::error_code missing;
    auto const bytes = std::filesystem::file_size(connection.file().string() + "-wal", missing);
    if (missing || bytes <= kBytesAtRest) return;
    (void)guarded(connection, "empty the WAL", [&]() -> Result<void> {
        connection.database().setBusyTimeout(0);
        connection.database().exec("PRAGMA wal_checkpoint(TRUNCATE)");
        return {};
    });
}

}  // namespace

Store::Store(std::unique_ptr<Connection> connection) : connection_(std::move(connection)) {}
Store::~Store() {
    empty_wal(*connection_);
}

Result<std::unique_ptr<Store>> Store::open(std::filesystem::path const& file,
                                           StoreOptions const& options) {
    if (auto const own = make_private(std::filesystem::absolute(file)); own.has_error()) {
        return Error(own.error()).in("open history");
    }
    std::unique_ptr<Connection> connection;
    try {
        connection =
            std::make_unique<Connection>(std::filesystem::absolute(file), options.busy_wait);
    } catch (SQLite::Exception const& exception) {
        return database_error(file, exception.getExtendedErrorCode(), 0, exception.what())
            .in("open history");
    }
    OSORA_TRY_VOID(prepare(*connection, options));
    return std::make_unique<Store>(std::move(connection));
}

Result<std::unique_ptr<Store>> Store::in_memory() {
    auto connection = std::make_unique<Connection>("", std::chrono::milliseconds(0));
    OSORA_TRY_VOID(prepare(*connection, {}));
    return std::make_unique<Store>(std::move(connection));
}

std::filesystem::path const& Store::file() const {
    return connection_->file();
}

std::string Store::journal_mode() const {
    return text_pragma(*connection_, "PRAGMA journal_mode");
}

std::filesystem::path history_file(std::filesystem::path const& state_dir) {
    return protocol::StatePaths{state_dir}.history();
}

}  // namespace osora::db
