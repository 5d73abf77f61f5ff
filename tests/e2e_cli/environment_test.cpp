// Values of any bytes arrive unchanged: from the submitting shell, and from [worker] env, through
// controller and agent, to the program of each rank. The backend is a parameter.
#include "tests/e2e_cli/cli_fixture.hpp"

#include "base/files/files.hpp"
#include "plan/config/fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <random>

namespace osora::e2e_cli {
namespace {

using testing::HasSubstr;

struct Backend {
    std::string name;
    std::string run_file;  // lines that select it
    int nodes = 1;
};

class EnvironmentArrives : public Cli, public testing::WithParamInterface<Backend> {
protected:
    /// Each rank prints its environment as the kernel shows it, and nothing else.
    void write_printer(std::string const& worker_env) {
        Backend const& backend = GetParam();
        write("run.toml", fmt::format("[run]\nname = \"env\"\njob = \"exec\"\n"
                                      "[resources]\ngpus_per_node = 2\n{}"
                                      "[worker]\ncommand = [\"cat\", \"/proc/self/environ\"]\n"
                                      "step_pattern = \"none\"\nenv = {{ {} }}\n",
                                      backend.run_file, worker_env));
    }
    /// NAME=value entries that rank `rank` of run `number` got.
    [[nodiscard]] Environment arrived(int number, int rank) const {
        auto const log =
            run_dir(fmt::format("env-{:04}", number)) / "logs/0" / fmt::format("{}.log", rank);
        auto const text = read_file(log);
        EXPECT_TRUE(text.has_value()) << log;
        Environment entries;
        for (std::size_t at = 0; text.has_value() && at < text->size();) {
            auto const end = std::min(text->find('\0', at), text->size());
            entries.push_back(text->substr(at, end - at));
            at = end + 1;
        }
        std::ranges::sort(entries);
        return entries;
    }
};

/// Bytes that have caused bugs: separators of Slurm's --export, quotes, shells, line ends, invalid
/// UTF-8.
std::string random_value(std::mt19937& random, std::size_t length) {
    static constexpr std::string_view kNasty =
        ",;:'\"`$\\ \t\n\r=|&<>(){}[]*?~#!%@^+-/\x01\x1b\x7f\x80\xc3\xa9\xff\xfe";
    std::string value;
    for (std::size_t i = 0; i < length; ++i) {
        bool const nasty = random() % 2 == 0;
        value += nasty ? kNasty[random() % kNasty.size()] : static_cast<char>(1 + random() % 255);
    }
    return value;
}

constexpr int kLaunches = 20;
constexpr int kValues = 500;  // a launch: 10,000 in all

TEST_P(EnvironmentArrives, TenThousandValuesOverManyLaunches) {
    std::mt19937 random(20260923);
    Environment const plain = environment_;
    for (int launch = 1; launch <= kLaunches; ++launch) {
        // Every fourth launch is as large as a launch may be.
        std::size_t const total = launch % 4 == 0 ? kEnvironmentBytesMax - (24 << 10) : 64 << 10;
        environment_ = plain;
        Environment given;
        for (int i = 0; i < kValues; ++i) {
            std::size_t const mean = total / kValues - 20;
            given.push_back(fmt::format("V{}_{}=", launch, i) +
                            random_value(random, random() % (2 * mean)));
        }
        while (size_bytes(given) > total) given.pop_back();
        environment_.insert(environment_.end(), given.begin(), given.end());
        // TOML is UTF-8, so the run file's values are text, but any text.
        std::string const text = "a,b='c' \"d\" $e `f` \\ \n\té ☃ {{g}}";
        write_printer(fmt::format("TOML_{} = {}", launch, plan::toml_string(text)));
        given.push_back(fmt::format("TOML_{}={}", launch, text));
        auto const ended = osora({"submit", "run.toml"});
        ASSERT_EQ(ended.code, 0) << ended.out << ended.err;
        std::ranges::sort(given);
        for (int rank = 0; rank < 2 * GetParam().nodes; ++rank) {
            auto const got = arrived(launch, rank);
            Environment missing;
            std::ranges::set_difference(given, got, std::back_inserter(missing));
            ASSERT_TRUE(missing.empty())
                << "launch " << launch << ", rank " << rank << ": " << missing.size() << " of "
                << given.size() << " did not arrive; the first: " << missing.front();
        }
    }
}

TEST_P(EnvironmentArrives, WhatIsTooMuchIsRefusedBeforeAnythingIsMade) {
    write_printer("");
    environment_.push_back("HUGE_A=" + std::string(120'000, 'x'));
    for (int i = 0; i < 4; ++i) {
        environment_.push_back(fmt::format("LARGE_{}={}", i, std::string(110'000, 'x')));
    }
    auto const ended = osora({"submit", "run.toml"});
    EXPECT_EQ(ended.code, 2);
    EXPECT_THAT(ended.err, testing::MatchesRegex("osora: environment: [0-9]+ KiB in [0-9]+ "
                                                 "variables, the largest is HUGE_A \\(118 KiB\\); "
                                                 "osora passes at most 512 KiB\n"));
    EXPECT_FALSE(std::filesystem::exists(folder_ / "state" / "runs" / "env-0001"));
}

TEST_P(EnvironmentArrives, AVariableThatIsTooLongIsNamed) {
    write_printer(fmt::format("LONG = \"{}\"", std::string(140'000, 'x')));
    auto const ended = osora({"submit", "run.toml"});
    EXPECT_EQ(ended.code, 2);
    EXPECT_THAT(ended.err, HasSubstr("environment: LONG is 137 KiB long; a program can be given "
                                     "128 KiB in one variable"));
}

INSTANTIATE_TEST_SUITE_P(Backends, EnvironmentArrives, testing::Values(Backend{"local", "", 1}),
                         [](auto const& each) { return each.param.name; });

}  // namespace
}  // namespace osora::e2e_cli
