// The script is checked by bash itself: what it would offer for a line, with a program "osora" that
// knows two runs.
#include "cli/command/completion.hpp"

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
        Descriptor out(::open((folder_ / "out").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600));
        SpawnOptions bash{.program = "/bin/bash", .arguments = {"--norc", "./test"}};
        bash.environment = {"PATH=/usr/bin:/bin"};
        bash.working_directory = folder_;
        bash.descriptors = {{out.get(), STDOUT_FILENO}, {out.get(), STDERR_FILENO}};
        auto const child = spawn(bash);
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
    EXPECT_THAT(offered({"completion", ""}), testing::ElementsAre("bash"));
}

TEST(Generated, FilesInTheTreeAreCurrent) {
    auto const table = command_table();
    fs::path const root = OSORA_SOURCE_DIR;
    char const* const advice = "run: ninja -C build osora_generated";
    auto const script = read_file(root / "etc/completion/osora.bash");
    ASSERT_TRUE(script.has_value()) << script.error().message;
    EXPECT_EQ(*script, bash_completion(table)) << advice;
    auto const page = read_file(root / "docs/man/osora.1");
    ASSERT_TRUE(page.has_value()) << page.error().message;
    EXPECT_EQ(*page, man_page(table)) << advice;
}

}  // namespace
}  // namespace osora::cli
