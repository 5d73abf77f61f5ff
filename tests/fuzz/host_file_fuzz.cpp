// Damaged host files: what is read keeps every limit and reads back as the same host; what is not
// read is said, with its line. OSORA_FUZZ_ROUNDS is small in the gate, large in the soak tier.
#include "plan/config/ssh_hosts.hpp"
#include "tests/fuzz/mutate.hpp"
#include "tests/kit/size.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace osora::fuzz {
namespace {

int const kRounds = tests::test_size("OSORA_FUZZ_ROUNDS", 20'000);

void check(plan::SshHosts const& found, std::string const& text) {
    auto const lines = static_cast<int>(std::ranges::count(text, '\n')) + 1;
    for (auto const& host : found.hosts) {
        EXPECT_FALSE(host.host.empty());
        EXPECT_EQ(host.host.find_first_of(" ;$`'\"\\\n@"), std::string::npos) << host.host;
        EXPECT_TRUE(host.port >= 1 && host.port <= 65535);
        EXPECT_TRUE(host.slots >= 0 && host.slots <= 1024);
        EXPECT_TRUE(host.line >= 1 && host.line <= lines);
        auto again = plan::parse_ssh_host(plan::to_entry(host));
        ASSERT_TRUE(again.has_value()) << plan::to_entry(host) << ": " << again.error().message;
        again->line = host.line;
        EXPECT_EQ(*again, host);
    }
    for (auto const& problem : found.problems) {
        EXPECT_TRUE(problem.line >= 1 && problem.line <= lines);
        EXPECT_TRUE(std::ranges::all_of(problem.message, [](char each) {
            return each >= ' ' && each <= '~';
        })) << problem.message;
    }
}

TEST(Fuzz, HostFiles) {
    std::vector<std::string> const corpus{
        "n1 slots=8 port=22 user=x\nn2 slots=8\n# comment\n\n  n3\t\n",
        "eva@[fd00::7]:2222 slots=4\nfe80::1%eth0 port=23\n10.0.0.1:22\n",
        "a user=u\na port=1\na port=65535 slots=1024 # x\n", "n[1-3,08] slots=2\nm[1-2]-ib:22\n"};
    Mutator mutator(11);
    std::size_t hosts = 0, problems = 0;
    for (int round = 0; round < kRounds; ++round) {
        std::string const text = mutator.mutate(corpus);
        auto const found = plan::parse_host_file(text);
        hosts += found.hosts.size();
        problems += found.problems.size();
        check(found, text);
        if (HasFailure()) FAIL() << "round " << round << ": " << text;
    }
    EXPECT_GT(hosts, problems / 10) << "too few survive";
    EXPECT_GT(problems, hosts / 10) << "too few are damaged";
}

}  // namespace
}  // namespace osora::fuzz
