// How an agent uses its machine: cores for the ranks, health of the node.
#include "protocol/messages/message.hpp"
#include "tests/e2e/run_fixture.hpp"

#include <fmt/format.h>
#include <sched.h>

namespace osora::e2e {
namespace {

using namespace protocol;
using testing::HasSubstr;

class E2eNode : public Run {
protected:
    static int cores() {
        cpu_set_t mine;
        return ::sched_getaffinity(0, sizeof mine, &mine) == 0 ? CPU_COUNT(&mine) : 1;
    }
    /// Ranks that print the CPUs that they may run on.
    static RunSpec tells_its_cpus(int ranks, char const* bind_cpus = "always") {
        RunSpec spec;
        spec.bind_cpus = bind_cpus;
        spec.job = "exec";
        spec.command = {"grep", "Cpus_allowed_list", "/proc/self/status"};
        spec.ranks = ranks;
        spec.steps = spec.max_restarts = 0;
        return spec;
    }
    /// Notices that are not about training steps, which these programs do not have.
    [[nodiscard]] std::vector<RunNotice> notices() const {
        auto all = events<RunNotice>();
        std::erase_if(all, [](auto const& each) { return each.kind == "no_steps_found"; });
        return all;
    }
    [[nodiscard]] std::string cpus_of(int rank) const {
        std::string const log = content_of(paths().rank_log(0, rank));
        auto const tab = log.find('\t');
        return tab == std::string::npos ? log : log.substr(tab + 1, log.find('\n') - tab - 1);
    }
    [[nodiscard]] std::string own_cpus() const {
        std::string const status = content_of("/proc/self/status");
        auto const at = status.find("Cpus_allowed_list:\t") + 19;
        return status.substr(at, status.find('\n', at) - at);
    }
};

TEST_F(E2eNode, EachRankHasItsOwnCoresAndTheJournalNamesThem) {
    if (cores() < 2) GTEST_SKIP() << "one core";
    EXPECT_EQ(run_to_end(tells_its_cpus(2)), 0) << errors();
    EXPECT_NE(cpus_of(0), cpus_of(1));
    auto const started = events<RankStarted>();
    ASSERT_EQ(started.size(), 2u);
    for (auto const& each : started) EXPECT_EQ(each.cpus, cpus_of(each.rank));
    EXPECT_TRUE(notices().empty());
}

TEST_F(E2eNode, ALoneRankHasThemAll) {
    EXPECT_EQ(run_to_end(tells_its_cpus(1)), 0) << errors();
    EXPECT_EQ(cpus_of(0), own_cpus());
}

TEST_F(E2eNode, MoreRanksThanCoresAreNotBoundAndThatIsReported) {
    auto const spec = tells_its_cpus(cores() + 1);
    EXPECT_EQ(run_to_end(spec), 0) << errors();
    EXPECT_EQ(cpus_of(0), own_cpus());
    EXPECT_EQ(events<RankStarted>().at(0).cpus, "");
    ASSERT_EQ(notices().size(), 1u);
    EXPECT_THAT(notices()[0].detail, HasSubstr("ranks are not bound to cores: "));
}

TEST_F(E2eNode, RanksWithoutGpusMoveFreelyUnlessAsked) {
    EXPECT_EQ(run_to_end(tells_its_cpus(2, "auto")), 0) << errors();
    EXPECT_EQ(cpus_of(1), own_cpus());
    EXPECT_TRUE(notices().empty());
}

TEST_F(E2eNode, TheHealthOfANodeComesToTheJournal) {
    set_variable(environment(), "LD_LIBRARY_PATH", OSORA_FAKE_NVML_DIR);
    RunSpec spec;
    spec.job = "exec";
    spec.command = {"sleep", "100"};
    make_run(spec);
    start();
    auto const health = await_event<NodeHealth>();  // the first sample is due after 10 s
    EXPECT_EQ(health.node, 0);
    EXPECT_EQ(health.why, "regular");
    EXPECT_GT(health.memory_available_bytes, 0);
    EXPECT_GT(health.disk_free_bytes, 0);
    ASSERT_EQ(health.gpus.size(), 2u);
    EXPECT_EQ(health.gpus[1].temperature_c, 57);
    ControlStop stop;
    stop.now = true;
    EXPECT_TRUE(command(stop).ok);
    (void)wait_for_exit();
    EXPECT_TRUE(all_gone());
}

}  // namespace
}  // namespace osora::e2e
