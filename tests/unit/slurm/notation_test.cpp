// Compares shell words with a real shell, times with the C library.
#include "slurm/notation.hpp"

#include "base/process/process.hpp"
#include "base/text/shell_word.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <ctime>

namespace osora::slurm {
namespace {

/// The output of a shell for `script`.
std::string output_of(std::string const& script) {
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe(ends.data()), 0);
    Descriptor reading(ends[0]);
    Descriptor writing(ends[1]);
    SpawnOptions options;
    options.program = "/bin/sh";
    options.arguments = {"-c", script};
    options.descriptors = {{writing.get(), STDOUT_FILENO}};
    auto const child = spawn(options);
    EXPECT_TRUE(child.has_value());
    writing.reset(-1);
    std::string text;
    std::array<char, 4096> buffer{};
    ssize_t got = 0;
    while ((got = ::read(reading.get(), buffer.data(), buffer.size())) > 0) {
        text.append(buffer.data(), static_cast<std::size_t>(got));
    }
    EXPECT_TRUE(child.has_value() && reap(*child).exit_code == 0);
    return text;
}

TEST(Words, AShellReadsExactlyTheBytes) {
    std::array<std::string, 9> const texts{"plain",
                                           "",
                                           "two words",
                                           "it's",
                                           "a\"b$HOME`id`\\",
                                           "line\nline\n",
                                           "*?[a]~#;&|<>()",
                                           "\xff\xfe\x01",
                                           "-n"};
    std::string script = "printf '%s|'";
    std::string expected;
    for (std::string const& text : texts) {
        script += " " + shell_word(text);
        expected += text + "|";
    }
    EXPECT_EQ(output_of(script), expected);
    EXPECT_EQ(shell_word("/opt/osora-1.0/bin"), "/opt/osora-1.0/bin");
}

TEST(Words, DirectivesAreQuotedForSbatchAndHoldOneLine) {
    EXPECT_EQ(directive_word("--time=1-00:00:00").value(), "--time=1-00:00:00");
    EXPECT_EQ(directive_word("--comment=a b").value(), "\"--comment=a b\"");
    EXPECT_EQ(directive_word("--x=a#b").value(), "\"--x=a#b\"");
    EXPECT_EQ(directive_word("a\"b\\c").value(), "\"a\\\"b\\\\c\"");
    EXPECT_EQ(directive_word("").value(), "\"\"");
    EXPECT_TRUE(directive_word("a\nb").has_error());
    EXPECT_TRUE(directive_word(std::string("a\0b", 3)).has_error());
}

TEST(Words, TimesAgreeWithTheLibrary) {
    EXPECT_FALSE(parse_time("N/A"));
    EXPECT_FALSE(parse_time("Unknown"));
    EXPECT_FALSE(parse_time("2026-02-30T00:00:00"));
    EXPECT_FALSE(parse_time("2026-01-01T24:00:00"));
    EXPECT_EQ(parse_time("1700000000"), 1700000000);
    for (std::time_t at = 0; at < 4'000'000'000; at += 86'413'579) {
        std::tm parts{};
        ::gmtime_r(&at, &parts);
        std::array<char, 32> text{};
        std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &parts);
        EXPECT_EQ(parse_time(text.data()), at) << text.data();
    }
}

TEST(Words, DurationsInEveryFormOfSlurm) {
    EXPECT_EQ(parse_duration("30"), 1800);
    EXPECT_EQ(parse_duration("2:05"), 125);
    EXPECT_EQ(parse_duration("24:00:00"), 86400);
    EXPECT_EQ(parse_duration("1-2"), 93600);
    EXPECT_EQ(parse_duration("1-02:03"), 93780);
    EXPECT_EQ(parse_duration("1-02:03:04"), 93784);
    EXPECT_FALSE(parse_duration("UNLIMITED"));
    EXPECT_FALSE(parse_duration(""));
    EXPECT_EQ(format_duration(131), "00:02:11");
    EXPECT_EQ(format_duration(93784), "1-02:03:04");
    EXPECT_EQ(format_duration(-5), "00:00:00");
}

}  // namespace
}  // namespace osora::slurm
