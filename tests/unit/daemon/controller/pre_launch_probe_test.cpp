#include "daemon/controller/pre_launch_probe.hpp"
#include "base/files/files.hpp"
#include "protocol/json_file.hpp"
#include "topology/probe/probe_cache.hpp"
#include "topology/probe_request.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

namespace osora::daemon {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class PreLaunchProbeTest : public testing::Test {
protected:
    void SetUp() override {
        fs::create_directories(state_ / "runs/demo-0001");
        before_.paths = {state_ / "runs/demo-0001"};
        before_.config.resources.backend = "slurm";
        before_.config.resources.nodes = 3;
        before_.environment = {"SLURM_JOB_NODELIST=n[1-3]"};
        before_.wall_us = kNow;
        before_.submission.run_name = "demo-0001";
        before_.run = [this](protocol::RunPaths const& paths) -> Result<int> {
            ++runs_;
            if (exit_code_ != 0) return exit_code_;
            auto result = measured();
            if (lost_)
                result.findings.push_back(
                    {.kind = "node_lost", .nodes = {"n3"}, .where = {}, .evidence = {}});
            result.wall_us = kNow;
            OSORA_TRY_VOID(write_file_atomic(paths.probe(), protocol::encode(result)));
            return 0;
        };
    }
    void TearDown() override { fs::remove_all(state_); }

    static topology::ProbeResult measured() {
        topology::ProbeResult result;
        result.nodes = {"n1", "n2", "n3"};
        result.median_gbit_s = 10;
        result.scores.resize(3);
        result.scores[1].bad = true;
        result.pairs.resize(1);
        result.findings = {{.kind = "slow_node",
                            .nodes = {"n2"},
                            .where = "n2",
                            .ratio = 0.3,
                            .evidence = "3 Gbit/s"}};
        return result;
    }

    static constexpr std::int64_t kNow = 1'800'000'000'000'000;
    static constexpr std::int64_t kHour_us = 3'600'000'000;
    fs::path state_ = fs::temp_directory_path() / ("probe-first-" + std::to_string(::getpid()));
    PreLaunchProbe before_;
    int runs_ = 0;
    int exit_code_ = 0;
    bool lost_ = false;
};

TEST_F(PreLaunchProbeTest, is_for_runs_on_several_machines) {
    plan::RunConfig config;
    config.resources.backend = "slurm";
    EXPECT_FALSE(wants_probe(config, false));
    config.resources.nodes = 2;
    EXPECT_TRUE(wants_probe(config, false));
    config.probe.before_start = "never";
    EXPECT_FALSE(wants_probe(config, false));
    config.probe.before_start = "always";
    EXPECT_FALSE(wants_probe(config, true));  // it is one
    config.run.job = "score";                 // its ranks exchange a counter
    config.probe.before_start = "auto";
    EXPECT_FALSE(wants_probe(config, false));
    config.probe.before_start = "always";
    EXPECT_TRUE(wants_probe(config, false));
    config.run.job = "probe";                 // of collectives
    EXPECT_TRUE(wants_probe(config, false));
}

TEST_F(PreLaunchProbeTest, measures_once_and_remembers_for_these_nodes) {
    auto const first = probe_before_launch(before_);
    ASSERT_TRUE(first.result.has_value()) << first.failure;
    EXPECT_EQ(runs_, 1);
    EXPECT_EQ(first.age_s, 0);
    before_.wall_us += 2 * kHour_us;
    auto const again = probe_before_launch(before_);
    EXPECT_EQ(runs_, 1);
    EXPECT_EQ(again.age_s, 7200);
    EXPECT_THAT(probe_sentence(again), HasSubstr("3 nodes, measured 2 h 00 min ago: "));
    before_.environment = {"SLURM_JOB_NODELIST=n[1-4]"};  // three hosts of these, but others
    (void)probe_before_launch(before_);
    EXPECT_EQ(runs_, 1) << "the first three of four are the same three";
    before_.environment = {"SLURM_JOB_NODELIST=n[2-4]"};
    (void)probe_before_launch(before_);
    EXPECT_EQ(runs_, 2);
}

TEST_F(PreLaunchProbeTest, an_old_or_rejected_measurement_is_repeated) {
    (void)probe_before_launch(before_);
    before_.wall_us += 25 * kHour_us;
    (void)probe_before_launch(before_);
    EXPECT_EQ(runs_, 2);
    before_.config.probe.before_start = "always";
    (void)probe_before_launch(before_);
    EXPECT_EQ(runs_, 3);
    before_.wall_us = kNow - kHour_us;  // the clock was set back
    before_.config.probe.before_start = "auto";
    (void)probe_before_launch(before_);
    EXPECT_EQ(runs_, 4);
}

TEST_F(PreLaunchProbeTest, a_slow_node_is_left_out_while_there_are_spares) {
    EXPECT_THAT(probe_before_launch(before_).exclude, IsEmpty());
    before_.config.resources.nodes = 2;
    before_.config.resources.spares = 1;
    EXPECT_THAT(probe_before_launch(before_).exclude, ElementsAre("n2"));
    before_.config.probe.exclude = false;
    EXPECT_THAT(probe_before_launch(before_).exclude, IsEmpty());
}

TEST_F(PreLaunchProbeTest, only_names_that_the_scheduler_knows_are_left_out) {
    before_.config.resources.backend = "ssh";
    before_.config.ssh.hosts = {"10.0.0.1", "10.0.0.2", "10.0.0.3"};
    before_.config.resources.nodes = 2;
    before_.config.resources.spares = 1;
    auto const probed = probe_before_launch(before_);
    EXPECT_THAT(probed.exclude, IsEmpty()) << "n2 is none of [ssh].hosts";
    EXPECT_THAT(probe_sentence(probed), Not(HasSubstr("left out")));
}

TEST_F(PreLaunchProbeTest, a_measurement_that_lost_a_node_is_not_kept) {
    lost_ = true;
    EXPECT_TRUE(probe_before_launch(before_).result.has_value());
    EXPECT_TRUE(probe_before_launch(before_).result.has_value());
    EXPECT_EQ(runs_, 2);
}

TEST_F(PreLaunchProbeTest, hosts_that_are_not_known_share_no_measurement) {
    before_.environment = {};
    (void)probe_before_launch(before_);
    (void)probe_before_launch(before_);
    EXPECT_EQ(runs_, 2);
    EXPECT_FALSE(fs::exists(state_ / "probes"));
}

TEST_F(PreLaunchProbeTest, who_stops_the_probe_stops_the_run) {
    exit_code_ = 130;
    auto const probed = probe_before_launch(before_);
    EXPECT_TRUE(probed.stopped);
    EXPECT_FALSE(probed.result.has_value());
}

TEST_F(PreLaunchProbeTest, a_failed_probe_does_not_stop_the_run) {
    exit_code_ = 1;
    auto const probed = probe_before_launch(before_);
    EXPECT_FALSE(probed.result.has_value());
    EXPECT_FALSE(probed.stopped);
    EXPECT_THAT(probe_sentence(probed),
                HasSubstr("links were not measured: the probe ended with 1"));
}

/// Three nodes that meet on eth0 and are four times as fast over eth1.
topology::ProbeResult two_networks() {
    topology::ProbeResult result;
    result.nodes = {"n1", "n2", "n3"};
    result.scores.resize(3);
    for (int node = 0; node < 3; ++node) {
        result.scores[static_cast<std::size_t>(node)].interface = "eth0";
        for (auto const* card : {"eth0", "eth1"}) {
            bool const second = std::string(card) == "eth1";
            result.interfaces.push_back({.node = node,
                                         .interface = card,
                                         .network = second ? "10.1.0.0/16" : "",
                                         .gbit_s = second ? 4.0 : 1.0,
                                         .of_median = 1});
            topology::PairSample sample;
            sample.stage =
                second ? topology::ProbeStage::interface_one : topology::ProbeStage::matching;
            sample.from = node;
            sample.to = (node + 1) % 3;
            sample.transport = "tcp";
            sample.interface = card;
            sample.network = second ? "10.1.0.0/16" : "";
            sample.size_bytes = second ? 500'000'000 : 125'000'000;
            sample.seconds = 1;
            result.pairs.push_back(sample);
        }
    }
    return result;
}

std::string value_of(std::vector<plan::NcclSetting> const& settings, std::string const& name) {
    for (auto const& each : settings) {
        if (each.name == name) return each.value + " " + each.origin;
    }
    return "";
}

TEST_F(PreLaunchProbeTest, ranks_meet_on_the_faster_network_unless_the_user_says_where) {
    plan::WorkerJob job;
    job.config = before_.config;
    Environment const stale{"GLOO_SOCKET_IFNAME=eth0", "HOME=/root"};
    EXPECT_EQ(value_of(settings_after(two_networks(), job, {}, stale), "GLOO_SOCKET_IFNAME"),
              "eth1 probe");
    job.config.worker.env["GLOO_SOCKET_IFNAME"] = "eth0";
    EXPECT_EQ(value_of(settings_after(two_networks(), job, {}, stale), "GLOO_SOCKET_IFNAME"),
              "eth0 run file");
}

TEST_F(PreLaunchProbeTest, the_probes_own_run_is_one_rank_a_node) {
    before_.config.resources.gpus_per_node = 8;
    before_.config.worker.command = {"./train"};
    before_.submission.ranks_per_node = 8;
    (void)probe_before_launch(before_);
    auto const text = read_file(before_.paths.probe_run().submission());
    ASSERT_TRUE(text.has_value());
    auto const submitted = protocol::decode<protocol::RunSubmitted>(*text);
    ASSERT_TRUE(submitted.has_value());
    EXPECT_EQ(submitted->job, "probe");
    EXPECT_EQ(submitted->nodes, 3);
    EXPECT_EQ(submitted->ranks_per_node, 1);
    EXPECT_EQ(submitted->restarts_max, 0);
    EXPECT_NE(submitted->run_uuid, before_.submission.run_uuid);
    auto const mode = fs::status(before_.paths.probe_run().probe_request()).permissions();
    EXPECT_EQ(mode & (fs::perms::group_all | fs::perms::others_all), fs::perms::none);
}

TEST_F(PreLaunchProbeTest, times_of_collectives_stay_until_there_are_newer_ones) {
    auto timed = measured();
    timed.collectives.push_back({.backend = "gloo", .collective = "all_reduce"});
    timed.collectives_wall_us = kNow;
    ASSERT_TRUE(cache_probe(state_, {"n1", "n2", "n3"}, timed).has_value());
    ASSERT_TRUE(cache_probe(state_, {"n1", "n2", "n3"}, measured()).has_value());
    topology::ProbeCache const cache(protocol::StatePaths{state_}.probes(),
                                     protocol::read_json_file<topology::ProbeResult>, kNow);
    auto const kept = cache.newest({.names = {"n3", "n2", "n1"}, .exactly = true}, 1e10);
    ASSERT_TRUE(kept.has_value());
    EXPECT_EQ(kept->collectives.size(), 1u);
    EXPECT_EQ(kept->collectives_wall_us, kNow);
}

TEST_F(PreLaunchProbeTest, the_user_says_what_is_measured_before_collectives) {
    topology::ProbeRequest asked;
    asked.matchings = 2;
    asked.token = "t";
    auto const path = before_.paths.probe_request();
    ASSERT_TRUE(write_file_atomic(path, protocol::encode(asked)).has_value());
    ASSERT_TRUE(probe_before_launch(before_).result.has_value());
    auto const text = read_file(before_.paths.probe_run().probe_request());
    ASSERT_TRUE(text.has_value());
    EXPECT_EQ(protocol::decode<topology::ProbeRequest>(*text)->matchings, 2);
    ASSERT_TRUE(write_file_atomic(path, "{").has_value());
    before_.config.probe.before_start = "always";
    EXPECT_THAT(probe_before_launch(before_).failure, HasSubstr("probe-request.json"));
}

}  // namespace
}  // namespace osora::daemon
