// Damaged files with NCCL settings, and damaged values: what is read keeps its promises, and a
// value that is called nearest is valid. OSORA_FUZZ_ROUNDS is small in the gate, large in the soak
// tier.
#include "tests/fuzz/mutate.hpp"
#include "tests/kit/size.hpp"
#include "topology/assignment.hpp"
#include "topology/ip_network.hpp"
#include "topology/nccl/nccl_value.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace osora::fuzz {
namespace {

int const kRounds = tests::test_size("OSORA_FUZZ_ROUNDS", 20'000);

using topology::Assignment;

std::vector<std::string> const& files() {
    static std::vector<std::string> const kFiles{
        "NCCL_DEBUG=WARN\r\n# x\nNCCL_SOCKET_IFNAME==ens1f0\nexport NCCL_ALGO=ring\n NCCL_A=1\n",
        "export NCCL_IB_HCA=\"=mlx5_0,mlx5_1\" GLOO_SOCKET_IFNAME='eth0' # c\nsetenv NCCL_X 1\n",
        "echo \"export NCCL_NET=Socket\"\nNCCL_Y DEFAULT=1 OVERRIDE=@{Z}\nif a; then NCCL_B=$(c); "
        "fi\n"};
    return kFiles;
}

void check(std::vector<Assignment> const& found, std::string const& text) {
    auto const lines = static_cast<int>(std::ranges::count(text, '\n')) + 1;
    for (Assignment const& each : found) {
        EXPECT_TRUE(topology::is_communication_variable(each.name)) << each.name;
        EXPECT_TRUE(each.line >= 1 && each.line <= lines);
        EXPECT_EQ(each.value.find('\n'), std::string::npos);
        EXPECT_LE(each.value.size(), text.size());
    }
}

TEST(Fuzz, NcclFiles) {
    Mutator mutator(5);
    std::size_t found = 0;
    for (int round = 0; round < kRounds; ++round) {
        std::string const text = mutator.mutate(files());
        auto const nccl = topology::parse_nccl_conf(text);
        auto const shell = topology::parse_environment_file(text);
        found += nccl.size() + shell.size();
        check(nccl, text);
        check(shell, text);
        for (Assignment const& each : nccl) EXPECT_LE(each.value.size(), 1023u);
        if (HasFailure()) FAIL() << "round " << round << ": " << text;
    }
    EXPECT_GT(found, static_cast<std::size_t>(kRounds)) << "too few survive";
}

TEST(Fuzz, NcclValues) {
    std::vector<std::string> const corpus{"16",
                                          "-1",
                                          "0x10",
                                          "=eth0,eth1",
                                          "^docker,lo",
                                          "=mlx5_0:1:0:0,mlx5_1::0",
                                          "ring;allreduce:^tree,nvls",
                                          "LL,LL128,Simple",
                                          "AF_INET6",
                                          "PXB",
                                          "1.5e3",
                                          "INIT,NET,^ENV",
                                          "2.21.5+cuda12.4",
                                          "10.0.0.1/22"};
    Mutator mutator(6);
    auto const catalogue = topology::nccl_catalogue();
    std::size_t valid = 0, invalid = 0;
    for (int round = 0; round < kRounds; ++round) {
        std::string const value = mutator.mutate(corpus);
        auto const& variable = catalogue[mutator.pick(catalogue.size())];
        int const version = round % 2 == 0 ? 0 : 22005;
        auto const problem = topology::check_value(variable, value, version);
        ++(problem ? invalid : valid);
        if (problem) {
            EXPECT_FALSE(problem->message.empty());
            EXPECT_LT(problem->message.size(), 400u);
            bool const good = problem->nearest.empty() ||
                              !topology::check_value(variable, problem->nearest, version);
            EXPECT_TRUE(good) << variable.name << "=" << value << " -> " << problem->nearest;
        }
        if (auto const code = topology::nccl_version_code(value)) {
            EXPECT_TRUE(*code >= 20000 && *code <= 99999) << value;
        }
        auto const network = topology::network_of(value);
        EXPECT_TRUE(network.empty() || topology::network_of(network) == network) << value;
        if (HasFailure()) FAIL() << "round " << round << ": " << variable.name << "=" << value;
    }
    EXPECT_GT(valid, invalid / 10);
    EXPECT_GT(invalid, valid / 10);
}

}  // namespace
}  // namespace osora::fuzz
