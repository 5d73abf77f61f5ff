#include "cli/run/code_facts.hpp"

#include "base/sha256.hpp"
#include "cli/command/git.hpp"

#include <fmt/format.h>

#include <system_error>

namespace osora::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds kLookLimit{2}, kDiffLimit{5};

struct Head {
    fs::path repository;
    std::string commit;
};

/// The repository that contains `folder`; no commit: there is none.
Head head_at(Git const& git, fs::path const& folder) {
    auto const text = git.run(folder, {"rev-parse", "--show-toplevel", "HEAD"}, kLookLimit);
    if (text.has_error()) return {};
    auto const line_end = text->rfind('\n');
    if (line_end == std::string::npos) return {};
    Head head{text->substr(0, line_end), text->substr(line_end + 1)};
    if (!is_commit_hash(head.commit)) return {};
    return head;
}

Head head_of(Git const& git, fs::path const& base_dir, std::vector<std::string> const& command) {
    std::error_code ignored;
    for (std::string const& word : command) {
        auto const file = base_dir / word;
        bool const is_program = &word == &command.front() && word.find('/') == std::string::npos;
        if (word.empty() || is_program || !fs::is_regular_file(file, ignored)) continue;
        auto head = head_at(git, file.parent_path());
        if (!head.commit.empty()) return head;
    }
    return head_at(git, base_dir);
}

std::string dirty_state(Git const& git, fs::path const& repository) {
    auto const diff = git.run(
        repository,
        {"diff", "--no-ext-diff", "--no-textconv", "--no-color", "--full-index", "HEAD", "--"},
        kDiffLimit);
    if (diff.has_error()) return "unknown";
    if (diff->empty()) return "no";
    constexpr std::string_view kFile = "diff --git ";
    constexpr std::size_t kDigits = 12;
    int files = diff->starts_with(kFile) ? 1 : 0;
    for (auto at = diff->find("\ndiff --git "); at != std::string::npos;
         at = diff->find("\ndiff --git ", at + kFile.size())) {
        files += 1;
    }
    return fmt::format("{} file{}, {}", files, files == 1 ? "" : "s",
                       sha256_hex(*diff).substr(0, kDigits));
}

}  // namespace

std::map<std::string, std::string> code_facts(Environment const& environment,
                                              fs::path const& base_dir,
                                              std::vector<std::string> const& command) {
    auto const git = Git::find(environment);
    if (git.has_error()) return {};
    auto const head = head_of(*git, base_dir, command);
    if (head.commit.empty()) return {};
    return {{"code.repository", head.repository.string()},
            {"code.commit", head.commit},
            {"code.dirty", dirty_state(*git, head.repository)}};
}

}  // namespace osora::cli
