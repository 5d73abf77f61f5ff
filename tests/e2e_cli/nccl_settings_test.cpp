// osora nccl env and advise as users run them: what ranks really saw, and a wrong interface.
#include "tests/e2e_cli/cli_fixture.hpp"

#include "protocol/json.hpp"

#include <fmt/format.h>

#include <map>

namespace osora::e2e_cli {
namespace {

using testing::HasSubstr;

class NcclSettings : public Cli {};

TEST_F(NcclSettings, TheRanksOfARunSayWhatTheySee) {
    write_run_file(10, "[nccl]\nNCCL_IB_TC = \"106\"\n");
    environment_.push_back("NCCL_ALGO=Tree");
    ASSERT_EQ(osora({"submit", "run.toml"}).code, 0);
    auto const ended = osora({"nccl", "env", "--run", "1", "--json"});
    ASSERT_EQ(ended.code, 0) << ended.err;
    auto const json = protocol::parse_json(ended.out);
    ASSERT_TRUE(json.has_value());
    std::map<std::string, std::string> seen;
    for (auto const& each : json->at("settings").as_array()) {
        auto const text = [&](char const* key) {
            return std::string(each.at(key).as_string().c_str());
        };
        seen[text("name")] = text("value") + " " + text("origin") + " " + text("ranks");
    }
    EXPECT_THAT(seen["NCCL_IB_TC"], testing::MatchesRegex("106 run file: run.toml:.* 0-1"));
    EXPECT_EQ(seen["NCCL_ALGO"], "Tree environment 0-1");
    EXPECT_EQ(seen["TORCH_FR_BUFFER_SIZE"], "2000 osora 0-1");
}

TEST_F(NcclSettings, AWrongInterfaceOnOneNode) {
    std::string pairs;
    for (int node = 0; node < 4; ++node) {
        for (int card = 0; card < 2; ++card) {
            bool const slow = (card == 1) != (node == 2);
            pairs += fmt::format(
                R"({}{{"stage":"interface_one","from":{},"to":{},"interface":"eth{}",)"
                R"("size_bytes":33554432,"seconds":{}}})",
                pairs.empty() ? "" : ",", node, (node + 1) % 4, card, slow ? 0.29 : 0.0115);
        }
    }
    write("probe.json",
          R"({"schema":"osora.probe/1","nodes":["n0","n1","n2","n3"],"pairs":[)" + pairs + "]}");
    auto const ended = osora({"nccl", "advise", "--probe", "probe.json", "--backend", "gloo"});
    EXPECT_EQ(ended.code, 0) << ended.err;
    EXPECT_THAT(ended.out, HasSubstr("GLOO_SOCKET_IFNAME=eth0 on n[0-1,3]\n"));
    EXPECT_THAT(ended.out, HasSubstr("GLOO_SOCKET_IFNAME=eth1 on n2\n"));
    write("probe.json", "{\"nodes\":[");
    auto const cut = osora({"nccl", "advise", "--probe", "probe.json"});
    EXPECT_EQ(cut.code, 2);
    EXPECT_THAT(cut.err, HasSubstr("probe.json: "));
    EXPECT_EQ(osora({"nccl", "advise", "--probe", "none.json"}).code, 2);
    EXPECT_EQ(osora({"nccl", "advise", "--root", "none"}).code, 2);
    EXPECT_EQ(osora({"nccl", "advise", "--nccl-version", "x"}).code, 2);
    EXPECT_EQ(osora({"nccl", "env", "run.toml", "--run", "1"}).code, 2);
}

}  // namespace
}  // namespace osora::e2e_cli
