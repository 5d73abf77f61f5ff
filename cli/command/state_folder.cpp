#include "cli/command/state_folder.hpp"

#include "base/text/text.hpp"
#include "cli/command/print.hpp"
#include "protocol/state_paths.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <string_view>

namespace osora::cli {
namespace {

namespace fs = std::filesystem;

/// Folders that older versions made with the umask's mode.
constexpr std::array<std::string_view, 5> kOlder{"bisects", "tunes", "tuned", "probes",
                                                 "worktrees"};

Result<void> close_one(fs::path const& folder, Parents parents, std::vector<std::string>& closed) {
    OSORA_TRY(auto const own, make_own_folder(folder, parents));
    if (own.mended) closed.push_back(fmt::format("{} (was {:o})", folder.string(), own.old_mode));
    return {};
}

/// `closed`: folders that other users could enter until now.
Result<void> close_all(fs::path const& state, Parents parents, std::vector<std::string>& closed) {
    OSORA_TRY_VOID(close_one(state, parents, closed));
    OSORA_TRY_VOID(close_one(protocol::StatePaths{state}.runs(), parents, closed));
    for (auto const name : kOlder) {
        std::error_code missing;
        if (!fs::exists(state / name, missing)) continue;
        OSORA_TRY_VOID(close_one(state / name, parents, closed));
    }
    return {};
}

std::string closed_text(std::vector<std::string> const& closed) {
    return fmt::format("closed to other users: {}", fmt::join(closed, ", "));
}

}  // namespace

Parents parents_of(Environment const& environment) {
    bool const believed = variable_or(environment, "OSORA_TRUST_PARENTS", "") == "1";
    return believed ? Parents::believed : Parents::checked;
}

Result<void> own_state(Context const& context, fs::path const& state) {
    std::vector<std::string> closed;
    OSORA_TRY_VOID(close_all(state, parents_of(context.environment), closed));
    if (!closed.empty()) cli::print(stderr, "note: {}\n", closed_text(closed));
    return {};
}

bool is_own_state(fs::path const& state, std::vector<std::string>& warnings) {
    std::vector<std::string> closed;
    auto const done = close_all(state, Parents::believed, closed);
    if (!closed.empty()) warnings.push_back(closed_text(closed));
    if (done.has_error()) warnings.push_back(done.error().message);
    return done.has_value();
}

}  // namespace osora::cli
