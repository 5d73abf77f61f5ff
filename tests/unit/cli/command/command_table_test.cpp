#include "cli/command/command.hpp"

#include "cli/completion/completion.hpp"
#include "cli/command/help.hpp"
#include "cli/command/man_page.hpp"
#include "cli/text/terminal.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <sstream>

namespace osora::cli {
namespace {

CommandSpec const& command(std::vector<CommandSpec> const& table, std::string_view name) {
    return *std::ranges::find(table, name, &CommandSpec::name);
}

std::string error_of(std::string_view name, std::vector<std::string> const& words) {
    auto const table = command_table();
    auto const parsed = parse_arguments(command(table, name), words);
    return parsed.has_error() ? parsed.error().message : "";
}

TEST(CommandTable, EveryRowIsWhole) {
    std::set<std::string_view> names;
    for (CommandSpec const& each : command_table()) {
        EXPECT_TRUE(names.insert(each.name).second) << each.name;
        EXPECT_FALSE(each.summary.empty()) << each.name;
        EXPECT_TRUE(each.details.ends_with('.')) << each.name;
        EXPECT_TRUE(each.example.starts_with("osora " + std::string(each.name))) << each.name;
        EXPECT_NE(each.run, nullptr) << each.name;
        bool const json = std::ranges::count(each.options, "--json", &OptionSpec::name) == 1;
        EXPECT_TRUE(json || each.hidden) << each.name << " has no --json";
        for (OptionSpec const& option : each.options) {
            EXPECT_TRUE(option.name.starts_with("--")) << each.name << " " << option.name;
            EXPECT_TRUE(option.help.ends_with('.')) << each.name << " " << option.name;
        }
    }
}

TEST(CommandTable, HelpFitsEightyColumns) {
    auto const table = command_table();
    std::string text = program_help(table);
    for (CommandSpec const& each : table) text += command_help(each);
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(display_width(line), 80) << line;
}

TEST(CommandTable, HelpShowsEveryOptionThatIsNotHiddenAndTheExample) {
    for (CommandSpec const& each : command_table()) {
        std::string const help = command_help(each);
        for (OptionSpec const& option : each.options) {
            bool const shown = help.find(option.name) != std::string::npos;
            EXPECT_EQ(shown, !option.hidden) << each.name << " " << option.name;
        }
        EXPECT_THAT(help, testing::HasSubstr("example:\n  osora " + std::string(each.name)));
    }
}

TEST(CommandTable, OptionsForComparisonWorkButAreNotShown) {
    auto const table = command_table();
    std::string const shown = command_help(command(table, "detect")) + man_page(table) +
                              bash_completion(table) + error_of("detect", {"-x"});
    for (std::string const name :
         {"otava", "Otava", "mozilla", "Mozilla", "p-value", "p\\-value"}) {
        EXPECT_THAT(shown, testing::Not(testing::HasSubstr(name)));
    }
    EXPECT_EQ(error_of("detect", {"--csv", "x", "--method", "otava", "--p-value", "0.01"}), "");
}

TEST(CommandTable, FindsCommandsOfOneAndTwoWords) {
    auto const table = command_table();
    auto const find = [&](std::vector<std::string> const& words) {
        auto const match = find_command(table, words);
        return match.command == nullptr ? std::string() : std::string(match.command->name);
    };
    EXPECT_EQ(find({"validate", "x.toml"}), "validate");
    EXPECT_EQ(find({"config", "show"}), "config show");
    EXPECT_EQ(find({"config"}), "");
    EXPECT_EQ(find({"completion", "runs"}), "completion runs");
    EXPECT_EQ(find({"completion", "bash"}), "completion");
    EXPECT_EQ(find({}), "");
}

TEST(Arguments, TakesOptionsInEveryForm) {
    auto const table = command_table();
    auto const parsed = parse_arguments(
        command(table, "submit"),
        std::vector<std::string>{"--set", "a.b=c d", "x.toml", "--set=e.f=-1", "--dry-run"});
    ASSERT_TRUE(parsed.has_value()) << parsed.error().message;
    EXPECT_THAT(parsed->all("--set"), testing::ElementsAre("a.b=c d", "e.f=-1"));
    EXPECT_EQ(parsed->value("RUN.toml"), "x.toml");
    EXPECT_TRUE(parsed->has("--dry-run"));
    EXPECT_FALSE(parsed->has("--detach"));
}

TEST(Arguments, SaysWhatIsWrongAndWhatWasMeant) {
    EXPECT_EQ(error_of("submit", {"x.toml", "--detatch"}),
              "unknown option --detatch; did you mean --detach? (osora submit --help)");
    EXPECT_EQ(error_of("validate", {"x.toml", "--frobnicate", "y"}),
              "unknown option --frobnicate; options are --help, --set, --json (osora validate "
              "--help)");
    EXPECT_EQ(error_of("validate", {}), "validate: RUN.toml is missing (osora validate --help)");
    EXPECT_EQ(error_of("validate", {"a", "b"}), "b: one word too many (osora validate --help)");
    EXPECT_EQ(error_of("submit", {"x.toml", "--dry-run=yes"}),
              "--dry-run: takes no value (osora submit --help)");
    EXPECT_EQ(
        error_of("submit", {"x.toml", "--backend", "slrum"}),
        "--backend slrum: must be one of local, ssh, slurm; did you mean slurm? (osora submit "
        "--help)");
    EXPECT_EQ(error_of("logs", {"1", "--rank", "1", "--rank", "2"}),
              "--rank is given 2 times (osora logs --help)");
    EXPECT_THAT(error_of("logs", {"1", "--rank"}), testing::HasSubstr("--rank"));
}

TEST(Arguments, NumbersAreChecked) {
    Arguments arguments;
    EXPECT_FALSE(arguments.number("--rank", 0, 3)->has_value());
    arguments.values["--rank"] = {"2"};
    EXPECT_EQ(**arguments.number("--rank", 0, 3), 2);
    for (char const* bad : {"4", "-1", "2x", "", "99999999999"}) {
        arguments.values["--rank"] = {bad};
        EXPECT_EQ(arguments.number("--rank", 0, 3).error().message,
                  std::string("--rank ") + bad + ": must be an integer between 0 and 3");
    }
}

TEST(Arguments, NumbersNeedNotBeWhole) {
    Arguments arguments;
    EXPECT_FALSE(arguments.real("--hours", 0, 3)->has_value());
    for (auto const& [text, value] :
         {std::pair("0.25", 0.25), std::pair("3", 3.0), std::pair("1e-2", 0.01)}) {
        arguments.values["--hours"] = {text};
        EXPECT_EQ(**arguments.real("--hours", 0, 3), value);
    }
    for (char const* bad : {"3.1", "-1", "2x", "", "nan", "inf", "1,5", "0x1"}) {
        arguments.values["--hours"] = {bad};
        EXPECT_EQ(arguments.real("--hours", 0, 3).error().message,
                  std::string("--hours ") + bad + ": must be a number between 0 and 3");
    }
}

TEST(ManPage, EscapesAndHasEveryCommand) {
    auto const table = command_table();
    std::string const page = man_page(table);
    for (CommandSpec const& each : table) {
        std::string head = ".SS osora " + std::string(each.name) + " ";
        if (auto const hyphen = head.find('-'); hyphen != std::string::npos)
            head.insert(hyphen, "\\");
        EXPECT_EQ(page.find(head) != std::string::npos, !each.hidden) << each.name;
    }
    EXPECT_THAT(page, testing::HasSubstr("\\-\\-detach"));
}

}  // namespace
}  // namespace osora::cli
