// Damaged settings files at the plug-in's reader: refused with a reason, or read with every limit
// kept. Best run with the asan preset. OSORA_FUZZ_ROUNDS is small in the gate, large in the soak
// tier.
#include "tests/fuzz/mutate.hpp"
#include "tests/kit/size.hpp"
#include "tests/unit/scheduler_plugins/settings.hpp"
#include "topology/nccl/srun_files.hpp"

#include <gtest/gtest.h>

namespace osora::fuzz {
namespace {

int const kRounds = tests::test_size("OSORA_FUZZ_ROUNDS", 20'000);

void check(spank::Parsed const& parsed, std::string const& text) {
    if (!parsed.good) {
        EXPECT_EQ(parsed.error.rfind("line ", 0), 0u) << text;
        return;
    }
    osora_settings const& settings = *parsed.settings;
    char const* const end = settings.text + text.size();
    ASSERT_LE(settings.env_count, static_cast<std::size_t>(OSORA_ENV_MAX));
    for (std::size_t i = 0; i < settings.env_count; ++i) {
        std::string const name = settings.env[i].name;
        std::string const value = settings.env[i].value;
        EXPECT_TRUE(topology::is_srun_variable(name)) << text;
        EXPECT_LT(settings.env[i].value + value.size(), end);
        EXPECT_EQ(value.find('\n'), std::string::npos);
    }
}

TEST(Fuzz, SettingsFiles) {
    std::vector<std::string> const corpus{
        "osora-node 1\nboot 0f1e2d3c-1111-2222-3333-444455556666\nenv NCCL_SOCKET_IFNAME bond0\n"
        "env NCCL_IB_HCA =mlx5_0,mlx5_1\ncpus 0 0-15,64-79\ncpus 1 16-31\n# note\nend\n",
        "osora-plan 1\nenv NCCL_ALGO Ring\ntasks 64\ntasks_per_node 8\ncpus 3 1023\nend\n"};
    Mutator mutator(3);
    int good = 0;
    for (int round = 0; round < kRounds; ++round) {
        std::string const text = mutator.mutate(corpus);
        for (auto const kind : {OSORA_NODE_PROFILE, OSORA_PLAN}) {
            auto const parsed = spank::parse(text, kind);
            good += parsed.good;
            check(parsed, text);
        }
        if (HasFailure()) FAIL() << "round " << round << ": " << text;
    }
    EXPECT_GT(good, kRounds / 100) << "too few survive to look behind the first line";
}

}  // namespace
}  // namespace osora::fuzz
