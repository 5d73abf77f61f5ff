// Each script is checked by its shell: what it would offer for a line, with a program "osora" that
// knows two runs.
#include "cli/completion/completion.hpp"

#include "base/files/descriptor.hpp"
#include "base/files/files.hpp"
#include "base/process/process.hpp"
#include "cli/command/man_page.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace osora::cli {
namespace {

namespace fs = std::filesystem;

class Completion : public testing::Test {
protected:
    Completion()
        : folder_(fs::path(testing::TempDir()) / fmt::format("completion {}", ::getpid())) {
        fs::create_directories(folder_);
        std::ofstream(folder_ / "script") << bash_completion(command_table());
        std::ofstream(folder_ / "_osora") << zsh_completion(command_table());
        std::ofstream(folder_ / "osora.fish") << fish_completion(command_table());
        std::ofstream(folder_ / "stage 1.toml") << "";
        std::ofstream(folder_ / "notes.txt") << "";
        std::ofstream(folder_ / "osora")
            << "#!/bin/sh\n[ \"$1 $2\" = \"completion runs\" ] && printf '42\\ndemo-0042\\n'\n";
        fs::permissions(folder_ / "osora", fs::perms::owner_all);
    }
    ~Completion() override { fs::remove_all(folder_); }

    /// What bash offers when Tab is pressed behind `words` (the last one may be begun).
    std::vector<std::string> offered(std::vector<std::string> words) {
        words.insert(words.begin(), "./osora");
        std::ofstream test(folder_ / "test");
        test << "source ./script\nCOMP_WORDS=(";
        for (auto const& word : words) test << " '" << word << "'";
        test << ")\nCOMP_CWORD=" << words.size() - 1
             << "\n_osora\nprintf '%s\\n' \"${COMPREPLY[@]}\"\n";
        test.close();
        return lines_of("/bin/bash", {"--norc", "./test"});
    }

    /// What zsh offers; _files and compadd are its own, here they print what they are given.
    std::vector<std::string> offered_by_zsh(std::vector<std::string> words) {
        words.insert(words.begin(), "./osora");
        std::ofstream test(folder_ / "test");
        test << "compadd() {\n"
                "  local is_name=0\n"
                "  while (( $# )); do\n"
                "    case $1 in\n"
                "    -l) shift ;;\n"
                "    -d | -S) shift 2 ;;\n"
                "    -a) is_name=1; shift ;;\n"
                "    --) shift; break ;;\n"
                "    *) break ;;\n"
                "    esac\n"
                "  done\n"
                "  (( is_name )) && set -- ${(P)1}\n"
                "  print -rl -- $@ | grep -- \"^${words[CURRENT]}\"\n"
                "}\n_files() { print -rl -- \"files $*\" }\n"
                "source ./_osora\nwords=(";
        for (auto const& word : words) test << " '" << word << "'";
        test << ")\nCURRENT=" << words.size() << "\n_osora\n:\n";
        test.close();
        return lines_of("/usr/bin/zsh", {"-f", "./test"});
    }

    /// What fish offers, without its texts.
    std::vector<std::string> offered_by_fish(std::string const& line) {
        std::ofstream(folder_ / "test") << "source ./osora.fish\ncomplete -C '" << line << "'\n:\n";
        auto lines = lines_of("/usr/bin/fish", {"--no-config", "./test"});
        for (auto& each : lines) each = each.substr(0, each.find('\t'));
        return lines;
    }

    std::vector<std::string> lines_of(char const* shell, std::vector<std::string> arguments) {
        Descriptor out(::open((folder_ / "out").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600));
        SpawnOptions options{.program = shell, .arguments = std::move(arguments)};
        options.environment = {"PATH=" + folder_.string() + ":/usr/bin:/bin",
                               "HOME=" + folder_.string()};
        options.working_directory = folder_;
        options.descriptors = {{out.get(), STDOUT_FILENO}, {out.get(), STDERR_FILENO}};
        auto const child = spawn(options);
        EXPECT_TRUE(child.has_value());
        if (child.has_error()) return {};
        EXPECT_EQ(reap(*child).exit_code, 0);
        std::ifstream stream(folder_ / "out");
        std::vector<std::string> lines;
        for (std::string line; std::getline(stream, line);) {
            if (!line.empty()) lines.push_back(line);
        }
        return lines;
    }
    fs::path folder_;
};

TEST_F(Completion, Commands) {
    EXPECT_THAT(offered({"subm"}), testing::ElementsAre("submit"));
    EXPECT_THAT(offered({""}), testing::IsSupersetOf({"init", "submit", "config", "--help"}));
    EXPECT_THAT(offered({""}), testing::Not(testing::Contains("man")));  // hidden
    EXPECT_THAT(offered({"config", ""}), testing::ElementsAre("show"));
}

TEST_F(Completion, Options) {
    EXPECT_THAT(offered({"submit", "--d"}), testing::UnorderedElementsAre("--dry-run", "--detach"));
    EXPECT_THAT(offered({"config", "show", "--or"}), testing::ElementsAre("--origin"));
    EXPECT_THAT(offered({"submit", "x.toml", "--backend", "s"}),
                testing::UnorderedElementsAre("ssh", "slurm"));
}

TEST_F(Completion, RunsAreAskedFromTheProgram) {
    EXPECT_THAT(offered({"watch", ""}), testing::ElementsAre("42", "demo-0042"));
    EXPECT_THAT(offered({"resume", "de"}), testing::ElementsAre("demo-0042"));
    EXPECT_THAT(offered({"submit", "--from", "4"}), testing::ElementsAre("42"));
}

// A folder that another user made must not become a command, neither while Tab is pressed nor in
// the line.
TEST_F(Completion, NamesAreNoCommands) {
    std::ofstream(folder_ / "osora")
        << "#!/bin/sh\nprintf '%s\\n' '$(touch pwned)x-0007' '`touch pwned`-0008' "
           "'a;touch pwned-0009' '*' 'demo-0042'\n";
    std::ofstream(folder_ / "$(touch pwned).toml") << "";
    fs::create_directory(folder_ / "$(touch pwned)d");
    EXPECT_THAT(offered({"watch", ""}),
                testing::ElementsAre("\\$\\(touch\\ pwned\\)x-0007", "\\`touch\\ pwned\\`-0008",
                                     "a\\;touch\\ pwned-0009", "\\*", "demo-0042"));
    EXPECT_THAT(offered({"watch", "demo-"}), testing::ElementsAre("demo-0042"));
    EXPECT_THAT(offered({"watch", "$(touch pwned)"}), testing::SizeIs(1));
    EXPECT_THAT(offered({"submit", ""}), testing::Contains("$(touch pwned).toml"));
    EXPECT_THAT(offered({"submit", "$("}), testing::SizeIs(2));
    EXPECT_FALSE(fs::exists(folder_ / "pwned"));
}

TEST_F(Completion, RunFilesAndKeys) {
    EXPECT_THAT(offered({"submit", ""}), testing::ElementsAre("stage 1.toml"));
    EXPECT_THAT(offered({"submit", "--set", "train.st"}), testing::ElementsAre("train.steps="));
    EXPECT_THAT(offered({"completion", ""}), testing::ElementsAre("bash", "zsh", "fish"));
}

TEST_F(Completion, Zsh) {
    if (!fs::exists("/usr/bin/zsh")) GTEST_SKIP() << "no zsh";
    EXPECT_THAT(offered_by_zsh({"subm"}), testing::ElementsAre("submit"));
    EXPECT_THAT(offered_by_zsh({""}), testing::IsSupersetOf({"init", "config", "--help"}));
    EXPECT_THAT(offered_by_zsh({"config", ""}), testing::ElementsAre("show"));
    EXPECT_THAT(offered_by_zsh({"submit", "--d"}),
                testing::UnorderedElementsAre("--dry-run", "--detach"));
    EXPECT_THAT(offered_by_zsh({"config", "show", "--or"}), testing::ElementsAre("--origin"));
    EXPECT_THAT(offered_by_zsh({"submit", "x.toml", "--backend", "s"}),
                testing::UnorderedElementsAre("ssh", "slurm"));
    EXPECT_THAT(offered_by_zsh({"submit", "--set", "train.st"}),
                testing::ElementsAre("train.steps="));
    EXPECT_THAT(offered_by_zsh({"watch", ""}), testing::ElementsAre("42", "demo-0042"));
    EXPECT_THAT(offered_by_zsh({"submit", ""}), testing::ElementsAre("files -g *.toml"));
}

TEST_F(Completion, Fish) {
    if (!fs::exists("/usr/bin/fish")) GTEST_SKIP() << "no fish";
    EXPECT_THAT(offered_by_fish("osora subm"), testing::ElementsAre("submit"));
    EXPECT_THAT(offered_by_fish("osora "), testing::IsSupersetOf({"init", "config"}));
    EXPECT_THAT(offered_by_fish("osora "), testing::Not(testing::Contains("notes.txt")));
    EXPECT_THAT(offered_by_fish("osora config "), testing::ElementsAre("show"));
    EXPECT_THAT(offered_by_fish("osora submit --d"),
                testing::UnorderedElementsAre("--dry-run", "--detach"));
    EXPECT_THAT(offered_by_fish("osora config show --or"), testing::ElementsAre("--origin"));
    EXPECT_THAT(offered_by_fish("osora submit x.toml --backend s"),
                testing::UnorderedElementsAre("ssh", "slurm"));
    EXPECT_THAT(offered_by_fish("osora submit --set train.st"),
                testing::ElementsAre("train.steps="));
    EXPECT_THAT(offered_by_fish("osora watch "), testing::ElementsAre("42", "demo-0042"));
    auto const files = offered_by_fish("osora submit ");
    ASSERT_FALSE(files.empty());
    EXPECT_EQ(files.front(), "stage 1.toml") << "fish offers other files after those";
}

TEST(Generated, FilesInTheTreeAreCurrent) {
    auto const table = command_table();
    fs::path const root = OSORA_SOURCE_DIR;
    char const* const advice = "run: ninja -C build osora_generated";
    for (auto const& [file, script] : {std::pair("osora.bash", bash_completion(table)),
                                       std::pair("_osora", zsh_completion(table)),
                                       std::pair("osora.fish", fish_completion(table))}) {
        auto const there = read_file(root / "etc/completion" / file);
        ASSERT_TRUE(there.has_value()) << there.error().message;
        EXPECT_EQ(*there, script) << advice;
    }
    auto const page = read_file(root / "docs/man/osora.1");
    ASSERT_TRUE(page.has_value()) << page.error().message;
    EXPECT_EQ(*page, man_page(table)) << advice;
}

}  // namespace
}  // namespace osora::cli
