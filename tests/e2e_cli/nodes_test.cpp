// osora nodes: what a state folder remembers of nodes that failed runs.
#include "protocol/json.hpp"
#include "protocol/state_paths.hpp"
#include "tests/e2e_cli/cli_fixture.hpp"

#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <fstream>

namespace osora::e2e_cli {
namespace {

using testing::HasSubstr;
using testing::Not;

class Nodes : public Cli {
protected:
    void remember(std::string const& text) {
        protocol::StatePaths const state{folder_ / "state"};
        std::filesystem::create_directories(state.dir);
        std::filesystem::permissions(state.dir, std::filesystem::perms::owner_all);
        std::ofstream(state.node_memory()) << text;
    }
    static std::string memory() {
        auto const now = std::chrono::system_clock::now().time_since_epoch();
        return fmt::format(
            R"({{"schema":"osora.node_memory/1","nodes":[)"
            R"({{"host":"n5","score":1,"updated_us":{0},"cause":"fell silent"}},)"
            R"({{"host":"n3","score":3,"updated_us":{0},"cause":"killed by signal 9"}}]}})",
            std::chrono::duration_cast<std::chrono::microseconds>(now).count());
    }
};

TEST_F(Nodes, AreListedWorstFirstAndForgotten) {
    EXPECT_THAT(osora({"nodes"}).out, HasSubstr("no node failed a run lately"));
    EXPECT_THAT(osora({"nodes", "--forget", "n3"}).err, HasSubstr("has no recorded fault"));
    remember(memory());
    auto const listed = osora({"nodes"});
    EXPECT_EQ(listed.code, 0) << listed.err;
    EXPECT_THAT(listed.out,
                testing::ContainsRegex("n3 .* killed by signal 9\n n5 .* -  +fell silent\n"));
    auto const parsed = protocol::parse_json(osora({"nodes", "--json"}).out).value();
    auto const& nodes = parsed.at("nodes").as_array();
    ASSERT_EQ(nodes.size(), 2u);
    EXPECT_EQ(nodes[0].at("host"), "n3");
    EXPECT_TRUE(nodes[0].at("excluded").as_bool());
    EXPECT_TRUE(nodes[1].at("excluded_until_us").is_null());
    auto const forgotten = osora({"nodes", "--forget", "n3"});
    EXPECT_EQ(forgotten.code, 0) << forgotten.err;
    EXPECT_THAT(forgotten.out, Not(HasSubstr("n3")));
    auto const again = osora({"nodes", "--forget", "n3"});
    EXPECT_EQ(again.code, 2);
    EXPECT_THAT(again.err, HasSubstr("node n3 has no recorded fault"));
}

TEST_F(Nodes, AreUsedLastOverSsh) {
    write_run_file(10);
    remember(memory());
    auto const planned = osora({"submit", "run.toml", "--dry-run", "--set", "resources.backend=ssh",
                                "--set", "resources.nodes=1", "--set", R"(ssh.hosts=["n3","n6"])"});
    EXPECT_EQ(planned.code, 0) << planned.err;
    EXPECT_THAT(planned.err, HasSubstr("note: ssh.hosts: n3 failed runs lately"));
    auto const alone = osora({"plan", "run.toml", "--set", "resources.backend=ssh", "--set",
                              "resources.nodes=1", "--set", R"(ssh.hosts=["n3","n6"])"});
    EXPECT_EQ(alone.code, 0) << alone.err;
    EXPECT_THAT(alone.err, HasSubstr("note: ssh.hosts: n3 failed runs lately"));
}

TEST_F(Nodes, ADamagedRecordIsNamed) {
    remember("{\"nodes\": 7}");
    auto const ended = osora({"nodes"});
    EXPECT_EQ(ended.code, 2);
    EXPECT_THAT(ended.err, HasSubstr("node_memory.json: nodes: expected an array"));
}

}  // namespace
}  // namespace osora::e2e_cli
