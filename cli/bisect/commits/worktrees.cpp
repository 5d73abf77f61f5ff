// The modification time of the marker is when the commit was last used.
#include "cli/bisect/commits/worktrees.hpp"

#include "base/files/files.hpp"
#include "base/files/own_folder.hpp"
#include "base/sha256.hpp"
#include "base/text/units.hpp"
#include "cli/bisect/commits/build_commit.hpp"
#include "protocol/json.hpp"
#include "protocol/state_paths.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>

namespace osora::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::minutes kCheckoutLimit{10};
constexpr std::int64_t kMarkerBytesMax = 1 << 20;

/// COMMIT.json.
struct Marker {
    int version = 1;
    std::vector<std::string> build;
    std::string why_not;
    std::int64_t bytes = 0;  // size of the folder after its build
};
BOOST_DESCRIBE_STRUCT(Marker, (), (version, build, why_not, bytes))

Result<Marker> read_marker(fs::path const& file) {
    OSORA_TRY(auto const text, read_file(file, kMarkerBytesMax));
    return protocol::decode<Marker>(text);
}

std::int64_t bytes_in(fs::path const& folder) {
    std::error_code error;
    std::int64_t bytes = 0;
    constexpr auto kOptions = fs::directory_options::skip_permission_denied;
    fs::recursive_directory_iterator each(folder, kOptions, error);
    for (fs::recursive_directory_iterator const end; !error && each != end; each.increment(error)) {
        std::error_code skipped;
        if (each->is_symlink(skipped) || !each->is_regular_file(skipped)) continue;
        auto const size = each->file_size(skipped);
        if (!skipped) bytes += static_cast<std::int64_t>(size);
    }
    return bytes;
}

std::int64_t microseconds_of(fs::file_time_type time) {
    return std::chrono::duration_cast<std::chrono::microseconds>(time.time_since_epoch()).count();
}

std::vector<KeptWorktree> kept_in(fs::path const& folder) {
    std::vector<KeptWorktree> kept;
    std::error_code error;
    for (fs::directory_iterator each(folder, error), end; !error && each != end;
         each.increment(error)) {
        auto const name = each->path().stem().string();
        if (each->path().extension() != ".json" || !is_commit_hash(name)) continue;
        auto const marker = read_marker(each->path());
        std::error_code unread;
        kept.push_back({name, marker.has_value() ? marker->bytes : 0,
                        microseconds_of(fs::last_write_time(each->path(), unread))});
    }
    return kept;
}

}  // namespace

std::vector<std::string> worktrees_to_remove(std::vector<KeptWorktree> kept,
                                             WorktreeLimits const& limits) {
    std::ranges::sort(kept, {}, &KeptWorktree::used_us);
    std::int64_t bytes = 0, largest = 0, free = limits.free_bytes;
    for (auto const& each : kept) {
        bytes += each.bytes;
        largest = std::max(largest, each.bytes);
    }
    std::vector<std::string> removed;
    auto count = std::ssize(kept);
    for (auto const& each : kept) {
        bool const fits = count < limits.count && bytes + largest <= limits.bytes && free > largest;
        if (fits) break;
        removed.push_back(each.commit);
        count -= 1;
        bytes -= each.bytes;
        free += each.bytes;
    }
    return removed;
}

Result<Worktrees> Worktrees::open(Git git, fs::path const& repository, fs::path const& state,
                                  WorktreeOptions options) {
    constexpr std::size_t kDigits = 12;
    // All checkouts of one repository share this directory, and so their worktrees.
    OSORA_TRY(auto const shared,
              git.run(repository, {"rev-parse", "--path-format=absolute", "--git-common-dir"}));
    auto const folder =
        protocol::StatePaths{state}.worktrees() / sha256_hex(shared).substr(0, kDigits);
    OSORA_TRY_VOID(make_own_folder(folder, Parents::believed));
    auto lock = FileLock::acquire(folder / "lock");
    if (lock.has_error()) {
        return std::move(lock).error().in("another osora bisect builds commits of " +
                                          repository.string());
    }
    return Worktrees(std::move(git), std::move(*lock), repository, folder, std::move(options));
}

Result<BuiltCommit> Worktrees::ready(std::string const& commit) {
    BuiltCommit built{folder_ / commit, folder_ / (commit + ".log"), ""};
    if (is_known(built, commit)) {
        std::error_code ignored;
        fs::last_write_time(marker_of(commit), fs::file_time_type::clock::now(), ignored);
        return built;
    }
    if (options_.on_build) options_.on_build(commit, built.log);
    OSORA_TRY_VOID(remove(commit));
    OSORA_TRY_VOID(make_room());
    auto done = check_out(built, commit);
    if (done.has_value()) done = build(built);
    if (done.has_error()) {
        [[maybe_unused]] auto const left = remove(commit);
        if (done.error().code != Errc::out_of_space) return done.error();
        return Error{Errc::out_of_space, fmt::format("{}; {} may be removed", done.error().message,
                                                     folder_.parent_path().string())};
    }
    // A commit that does not build has no further use for its folder.
    if (!built.is_built()) OSORA_TRY_VOID(remove(commit));
    Marker const marker{.build = options_.build,
                        .why_not = built.why_not,
                        .bytes = built.is_built() ? bytes_in(built.folder) : 0};
    OSORA_TRY_VOID(write_file_atomic(marker_of(commit), protocol::encode(marker) + "\n", 0600));
    return built;
}

/// Whether the marker records how the build of this commit with this recipe ended.
bool Worktrees::is_known(BuiltCommit& built, std::string const& commit) const {
    auto const marker = read_marker(marker_of(commit));
    if (marker.has_error() || marker->version != Marker().version) return false;
    if (marker->build != options_.build) return false;
    built.why_not = marker->why_not;
    if (!built.is_built()) return !options_.retry_failed;
    auto const head = git_.run(built.folder, {"rev-parse", "HEAD"});
    return head.has_value() && *head == commit;
}

Result<void> Worktrees::check_out(BuiltCommit const& built, std::string const& commit) {
    std::vector<std::string> const arguments{
        "worktree", "add", "--detach", "--force", built.folder.string(), commit};
    auto const done = git_.run(repository_, arguments, kCheckoutLimit);
    if (done.has_error()) return done.error();
    return boost::system::in_place_value;
}

Result<void> Worktrees::build(BuiltCommit& built) {
    OSORA_TRY(built.why_not, run_build({.command = options_.build,
                                        .folder = built.folder,
                                        .log = built.log,
                                        .environment = options_.environment,
                                        .limit = options_.build_limit}));
    return boost::system::in_place_value;
}

Result<void> Worktrees::make_room() {
    OSORA_TRY(auto const free, free_bytes(folder_));
    for (auto const& commit : worktrees_to_remove(kept_in(folder_), {.free_bytes = free})) {
        if (!pinned_.contains(commit)) OSORA_TRY_VOID(remove(commit));
    }
    return boost::system::in_place_value;
}

/// Removes the marker first, so that an interrupted removal counts as half built.
Result<void> Worktrees::remove(std::string const& commit) {
    std::error_code error;
    fs::remove(marker_of(commit), error);
    if (error) return file_error(error.value(), "remove", marker_of(commit));
    auto const folder = folder_ / commit;
    fs::remove_all(folder, error);
    if (error) return file_error(error.value(), "remove", folder);
    // A checkout that was killed stays locked, and prune skips it; most are not locked.
    [[maybe_unused]] auto const unlocked =
        git_.run(repository_, {"worktree", "unlock", folder.string()});
    auto const pruned = git_.run(repository_, {"worktree", "prune"});
    if (pruned.has_error()) return pruned.error();
    return boost::system::in_place_value;
}

}  // namespace osora::cli
