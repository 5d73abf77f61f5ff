// Files of NCCL's inspector as its README shows them: objects over several lines, in a row.
#include "db/foreign/inspector_log.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace osora::db {
namespace {

using testing::HasSubstr;

struct Call {
    std::string_view host;
    int pid = 1, rank = 0;
    std::string_view coll = "AllReduce";
    std::int64_t bytes = 1;
    double us = 1;
};
std::string object(Call const& call) {
    return fmt::format(R"({{
  "header": {{"id": "0x7f8c496ae9f661", "rank": {}, "n_ranks": 4, "nnodes": 2}},
  "metadata": {{
    "inspector_output_format_version": "v4.0", "git_rev": "", "rec_mechanism": "profiler_plugin",
    "dump_timestamp_us": {}, "hostname": "{}", "pid": {} }},
  "coll_perf": {{
    "coll": "{}", "coll_sn": 1407, "coll_msg_size_bytes": {}, "coll_exec_time_us": {},
    "coll_algobw_gbs": 277.210914, "coll_busbw_gbs": 485.119099 }}
}}
)",
                       call.rank, 1748030377748202 + call.rank, call.host, call.pid, call.coll,
                       call.bytes, call.us);
}

TEST(InspectorLog, SumsTheCallsOfEachNodeByKindAndSize) {
    InspectorLogs logs;
    std::string first;
    for (double const us : {100.0, 300.0}) first += object({"a", 1, 0, "AllReduce", 1 << 24, us});
    first += object({"a", 2, 1, "AllReduce", (1 << 24) + 5, 200});
    first += object({"a", 2, 1, "ReduceScatter", 1 << 20, 50});
    ASSERT_TRUE(logs.add(first).has_value());
    ASSERT_TRUE(logs.add(object({"b", 1, 2, "AllReduce", 1 << 23, 70})).has_value());
    auto const run = std::move(logs).result();
    ASSERT_TRUE(run.has_value()) << run.error().message;
    ASSERT_EQ(run->nodes.size(), 2u);
    EXPECT_EQ(run->ranks_per_node, 2);
    auto const& sums = run->nodes[0].collectives;
    ASSERT_EQ(sums.size(), 2u);
    EXPECT_EQ(sums[0].cost.name, "all_reduce from 16.0 MiB, 4 ranks");
    EXPECT_EQ(sums[0].cost.collective, "all_reduce");
    EXPECT_EQ(sums[0].cost.calls, 3);
    EXPECT_EQ(sums[0].cost.bytes, 3 * (1 << 24) + 5);
    EXPECT_NEAR(sums[0].cost.seconds, 600e-6, 1e-12);
    EXPECT_EQ(sums[1].cost.collective, "reduce_scatter");
    for (auto const& each : sums) EXPECT_TRUE(protocol::is_sane(each.cost));
    EXPECT_EQ(run->nodes[1].collectives.at(0).cost.name, "all_reduce from 8.00 MiB, 4 ranks");
}

TEST(InspectorLog, AnObjectThatIsCutOffIsLeftOut) {
    InspectorLogs logs;
    auto const whole = object({"a", 1, 0, "AllReduce", 1 << 24, 100});
    ASSERT_TRUE(logs.add(whole + whole.substr(0, whole.size() / 2)).has_value());
    auto const run = std::move(logs).result();
    ASSERT_TRUE(run.has_value());
    EXPECT_EQ(run->nodes[0].collectives[0].cost.calls, 1);
    EXPECT_THAT(run->remarks, testing::Contains(HasSubstr("1 object cut off")));
}

TEST(InspectorLog, OtherContentIsRefusedWithItsPlace) {
    auto const whole = object({"a", 1, 0, "AllReduce", 1 << 24, 100});
    for (auto const& [text, why] : std::vector<std::pair<std::string, std::string>>{
             {whole + "{\"a\": 1}", "object 2: not of NCCL's inspector"},
             {whole + "nonsense", "object 2: "},
             {object({"a", 1, 9, "AllReduce", 1, 1}), "object 1: rank, size"},
             {object({"a", 1, 0, "AllReduce", -1, 1}), "object 1: rank, size"},
             {std::string(100, '['), "object 1: "}}) {
        InspectorLogs logs;
        auto const added = logs.add(text);
        ASSERT_TRUE(added.has_error()) << text;
        EXPECT_THAT(added.error().message, HasSubstr(why));
    }
    EXPECT_TRUE(InspectorLogs().result().has_error());
}

TEST(InspectorLog, IsRecognisedByItsStart) {
    EXPECT_TRUE(is_inspector_log("\n" + object({"a", 1, 0, "AllReduce", 1, 1})));
    EXPECT_FALSE(is_inspector_log("{\"header\": 1}"));
    EXPECT_FALSE(is_inspector_log(""));
}

}  // namespace
}  // namespace osora::db
