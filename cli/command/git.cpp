#include "cli/command/git.hpp"

#include "base/process/capture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace osora::cli {
namespace {

/// The first line that describes the error, without git's prefix.
std::string error_of(Captured const& captured) {
    std::string_view rest = captured.err;
    std::string first;
    while (!rest.empty()) {
        auto const line = rest.substr(0, rest.find('\n'));
        rest.remove_prefix(std::min(rest.size(), line.size() + 1));
        for (std::string_view const prefix : {"fatal: ", "error: "}) {
            if (line.starts_with(prefix)) return std::string(line.substr(prefix.size()));
        }
        if (first.empty()) first = line;
    }
    return first.empty() ? describe(captured.status) : first;
}

}  // namespace

Result<Git> Git::find(Environment const& environment) {
    OSORA_TRY(auto program, find_in_path("git", variable_or(environment, "PATH", "/usr/bin:/bin")));
    Environment mine = environment;
    // Variables set by a hook or an alias would select another repository than FOLDER's.
    for (auto const* name :
         {"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY",
          "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_NAMESPACE", "GIT_PREFIX"}) {
        remove_variable(mine, name);
    }
    set_variable(mine, "LC_ALL", "C");
    set_variable(mine, "GIT_TERMINAL_PROMPT", "0");
    set_variable(mine, "GIT_OPTIONAL_LOCKS", "0");
    return Git(std::move(program), std::move(mine));
}

Result<std::string> Git::run(std::filesystem::path const& folder,
                             std::vector<std::string> const& arguments,
                             std::chrono::milliseconds limit) const {
    SpawnOptions options{
        .program = program_,
        .arguments = {"-C", folder.string(), "-c", "core.hooksPath=/dev/null", "-c",
                      "core.fsmonitor=false", "-c", "log.showSignature=false"},
        .environment = environment_};
    options.arguments.insert(options.arguments.end(), arguments.begin(), arguments.end());
    OSORA_TRY(auto captured, run_captured(std::move(options), limit));
    if (!captured.ok()) {
        auto const code = says_disk_is_full(captured.err) ? Errc::out_of_space : Errc::io;
        return Error{code, fmt::format("git {}: {}", arguments.front(), error_of(captured))};
    }
    if (captured.out.ends_with('\n')) captured.out.pop_back();
    return std::move(captured.out);
}

bool is_commit_hash(std::string const& text) {
    constexpr std::size_t kSha1Digits = 40, kSha256Digits = 64;
    if (text.size() != kSha1Digits && text.size() != kSha256Digits) return false;
    return std::ranges::all_of(
        text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

bool says_disk_is_full(std::string const& text) {
    return text.find("No space left on device") != std::string::npos ||
           text.find("Disk quota exceeded") != std::string::npos;
}

}  // namespace osora::cli
