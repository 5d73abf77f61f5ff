// What probes say of nodes, read from rows that are written here.
#include "db/derived/node_scores.hpp"

#include "db/store/connection_internal.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace osora::db {
namespace {

class NodeScores : public testing::Test {
protected:
    void add(std::string const& sql) { store_->connection().database().exec(sql); }
    void add_run(int run, std::int64_t submitted_us) {
        add(
            fmt::format("INSERT INTO run VALUES({0},'u{0}',{1},'probe',1,'probe','','','','',{2},"
                        "NULL,NULL,NULL,NULL,'ok',0,'',4,4,0,0,1,0,1,1,'','',0,"
                        "NULL,NULL,NULL,NULL)",
                        run, run + 10, submitted_us));
    }
    void SetUp() override { add("INSERT INTO series VALUES(1,'probe','x','{}')"); }

    std::unique_ptr<Store> store_ = Store::in_memory().value();
};

TEST_F(NodeScores, NetworkAndStorageOfEachNode) {
    add_run(1, 1'000'000);
    add("INSERT INTO probe_node VALUES(1,0,'n0','leaf1',40.0,0.98,3,0,'ib0'),"
        "(1,1,'n1','leaf1',0.0,0.0,0,0,'')");  // n1 had no transfer
    add("INSERT INTO probe_storage VALUES(1,5,0,0,1,'/data',2e9,100,4),"
        "(1,5,1,0,1,'/data',4e9,100,4),(1,5,2,0,0,'/data',1e9,100,4),(1,5,3,1,1,'/data',3e9,1,4)");
    auto scores = load_node_scores(*store_).value();
    ASSERT_EQ(scores.size(), 3u);
    EXPECT_EQ(scores[0].host, "n0");
    EXPECT_EQ(scores[0].leaf, "leaf1");
    EXPECT_EQ(scores[0].run, 11);
    EXPECT_EQ(scores[0].run_id, 1);
    EXPECT_EQ(scores[0].submitted_us, 1'000'000);
    EXPECT_EQ(scores[0].path, "");
    EXPECT_DOUBLE_EQ(scores[0].rate, 5e9);  // 40 Gbit/s
    EXPECT_DOUBLE_EQ(scores[0].of_median, 0.98);
    EXPECT_EQ(scores[1].path, "/data");
    EXPECT_DOUBLE_EQ(scores[1].rate, 3e9);  // alone, both times
    EXPECT_DOUBLE_EQ(scores[1].of_median, 0);
    EXPECT_EQ(scores[2].host, "n1");
}

TEST_F(NodeScores, TheNewestProbesAreTaken) {
    for (int run = 1; run <= 503; ++run) {
        add_run(run, 1'000'000 * run);
        add(fmt::format("INSERT INTO probe_node VALUES({},0,'n0','',40.0,1.0,3,0,'')", run));
    }
    auto const scores = load_node_scores(*store_).value();
    ASSERT_EQ(scores.size(), 500u);
    auto const [oldest, newest] = std::ranges::minmax(scores, {}, &analysis::NodeScore::run_id);
    EXPECT_EQ(oldest.run_id, 4);
    EXPECT_EQ(newest.run_id, 503);
}

TEST_F(NodeScores, NoProbesAreNoScores) {
    EXPECT_TRUE(load_node_scores(*store_).value().empty());
}

}  // namespace
}  // namespace osora::db
