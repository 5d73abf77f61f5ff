#include "cli/bisect/probe_evidence.hpp"

#include "base/files/files.hpp"
#include "protocol/json.hpp"
#include "tests/unit/db/history_kit.hpp"
#include "topology/probe_result.hpp"

#include <gmock/gmock.h>

#include <filesystem>

namespace osora::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::int64_t kNow_us = 1'800'000'000'000'000, kHour_us = 3'600'000'000;

class ProbeEvidence : public testing::Test {
protected:
    void keep(std::string const& name, topology::ProbeResult const& probe) {
        std::filesystem::create_directories(state_ / "probes");
        ASSERT_TRUE(
            write_file_atomic(state_ / "probes" / name, protocol::encode(probe), 0600).has_value());
    }
    topology::ProbeResult probe(std::int64_t age_us, std::vector<std::string> nodes) {
        topology::ProbeResult result;
        result.wall_us = kNow_us - age_us;
        result.nodes = std::move(nodes);
        return result;
    }
    db::test::StateDir folder_;
    std::filesystem::path state_ = folder_.path();
};

TEST_F(ProbeEvidence, IsTheNewestProbeOfOneOfTheHosts) {
    auto slow = probe(2 * kHour_us, {"n1", "n2"});
    slow.findings = {{.kind = "slow_link",
                      .nodes = {},
                      .where = "uplink of leaf2",
                      .ratio = 0.25,
                      .evidence = "13 of 57 Mbit/s"}};
    keep("a.json", slow);
    keep("b.json", probe(5 * kHour_us, {"n1", "n2"}));
    keep("c.json", probe(kHour_us, {"other"}));
    EXPECT_THAT(links_beside(state_, {"n2", "n9"}, kNow_us),
                ElementsAre("probe of 2 nodes, 2 h 00 min ago: uplink of leaf2: 13 of 57 Mbit/s"));
}

TEST_F(ProbeEvidence, SaysThatNothingWasFoundAndThatNothingWasMeasured) {
    EXPECT_THAT(links_beside(state_, {"n1"}, kNow_us), ElementsAre(HasSubstr("osora probe")));
    keep("old.json", probe(8 * 24 * kHour_us, {"n1"}));
    keep("later.json", probe(-kHour_us, {"n1"}));
    EXPECT_THAT(links_beside(state_, {"n1"}, kNow_us), ElementsAre(HasSubstr("osora probe")));
    std::filesystem::create_directories(state_ / "probes");
    ASSERT_TRUE(write_file_atomic(state_ / "probes/cut.json", "{\"wall_us\":", 0600).has_value());
    keep("fine.json", probe(kHour_us, {"n1"}));
    EXPECT_THAT(links_beside(state_, {"n1"}, kNow_us),
                ElementsAre(HasSubstr("no node or link is slower than the others")));
}

}  // namespace
}  // namespace osora::cli
