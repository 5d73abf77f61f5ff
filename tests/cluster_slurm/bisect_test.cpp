// A step that takes twice as long, with a dozen differing settings: osora bisect names the one that
// causes it, on a bed of sixteen nodes with shaped links, with rehearsals as trials. The gate takes
// BisectOfMocks, whose times are scripted; real workers are measured in the soak tier.
#include "protocol/json.hpp"
#include "tests/cluster/user.hpp"

#include <fmt/format.h>

#include <fstream>
#include <set>

namespace osora::cluster {
namespace {

/// The lines in which a run file differs from the common part.
struct Settings {
    std::string rehearse = "compute_s = 0.04\n", debug = {}, variables = {}, more = {};
};

struct Case {
    std::string name;
    Settings bad;
    std::set<std::string> culprits;  // names of factors
    std::string slow_leaf = {};      // that the bad run's nodes are on
};

std::ostream& operator<<(std::ostream& out, Case const& each) {
    return out << each.name;
}

std::vector<Case> const kAll{
    {"PerParameterCollectives",
     {.debug = "collectives = \"per_parameter\"\n"},
     {"debug.collectives"}},
    {"WrongInterface",
     {.variables = "GLOO_SOCKET_IFNAME = \"eth1\"\n"},
     {"worker.env.GLOO_SOCKET_IFNAME"}},
    {"SlowLeaf", {}, {"node_set"}, "leaf3"},
    {"MixedBuckets",
     {.more = "[[bucket]]\nresolution = \"32\"\nnum_frames = 8\ncompute_s = 0.6\n"},
     {"bucket[1]"}},
    {"StarvedLoader",
     {.rehearse = "compute_s = 0.04\ndata_wait_s = 0.3\n"},
     {"rehearse.data_wait_s"}},
    {"TwoTogether",
     {.rehearse = "compute_s = 0.04\ndata_wait_s = 0.3\n",
      .variables = "GLOO_SOCKET_IFNAME = \"eth1\"\n"},
     {"rehearse.data_wait_s", "worker.env.GLOO_SOCKET_IFNAME"}},
};

class BisectBed : public UserTest {
protected:
    static void SetUpTestSuite() {
        open({.nodes = 16,
              .leaf_size = 4,
              .rate = "200mbit",
              .trunk_rate = "800mbit",
              .second_rate = "60mbit",
              .sshd = false});
    }
    void SetUp() override {
        UserTest::SetUp();
        if (IsSkipped() || HasFatalFailure()) return;
        set_variable(bed().environment(), "OSORA_WORKER", OSORA_BIN_DIR "/osora-worker");
    }

    /// FOLDER/NAME.toml: four ranks on as many nodes; `other`: a dozen settings differ.
    void write(std::string const& name, Settings const& settings, bool other) const {
        std::ofstream(folder_ / (name + ".toml")) << fmt::format(
            "[run]\nname = \"demo\"\n"
            "[resources]\nbackend = \"slurm\"\nnodes = 4\ncpus_per_worker = 1\n"
            "time_limit = \"00:20:00\"\n"
            "[data]\nprefetch_factor = {0}\n"
            "[[bucket]]\nresolution = \"32\"\nnum_frames = 4\n{1}"
            "[batch]\nglobal_batch_size = 4\nmax = {2}\n"
            "[parallel]\ngrad_bucket_mib = 2\n"
            "[optim]\nlr = {3}\nwarmup_steps = {2}\nema_decay = 0.9{0}\nlora_rank = 0\n"
            "[train]\nsteps = 20\nseed = {0}\n[probe]\nbefore_start = \"never\"\n"
            "[checkpoint]\nkeep = {0}\n[memory]\nallow_lossy = {4}\ngpu_memory_gib = {5}\n"
            "[nccl]\nNCCL_IB_TC = \"{2}\"\nNCCL_DEBUG = \"{6}\"\n"
            "[worker.env]\nSITE_NOTE = \"{0}\"\nOMP_SCHEDULE = \"{7}\"\nNCCL_CROSS_NIC = "
            "\"{0}\"\n{8}"
            "[rehearse]\n{9}[debug]\n{10}",
            other ? 2 : 1, settings.more, other ? 1000 : 500, other ? "2e-4" : "1e-4",
            other ? "true" : "false", other ? 40 : 80, other ? "WARN" : "VERSION",
            other ? "static" : "dynamic", settings.variables, settings.rehearse, settings.debug);
    }

    Ended rehearse(std::string const& name, std::vector<std::string> const& not_on = {}) const {
        std::vector<std::string> words{"rehearse", name + ".toml", "--steps", "12"};
        if (!not_on.empty()) {
            protocol::json::array names(not_on.begin(), not_on.end());
            words.insert(words.end(),
                         {"--set", "faults.exclude_nodes=" + protocol::json::serialize(names)});
        }
        auto ended = in_job(words);
        EXPECT_EQ(ended.code, 0) << ended.out << ended.err;
        return ended;
    }

    /// osora inside an allocation of all nodes.
    Ended in_job(std::vector<std::string> const& arguments, double limit_s = 600) const {
        std::vector<std::string> words{
            "env",     "-C",         folder_.string(),      "salloc",
            "--quiet", "--nodes=16", "--ntasks-per-node=1", OSORA_BIN_DIR "/osora"};
        words.insert(words.end(), arguments.begin(), arguments.end());
        return bed().start_on("ctl", words).wait(limit_s);
    }

    /// Bisects runs 1 and 2.
    void expect_culprits(std::set<std::string> const& expected) const {
        auto const ended = in_job({"bisect", "1", "2", "--steps", "12", "--json"});
        EXPECT_EQ(ended.code, 0) << ended.out << ended.err;
        auto const answer = protocol::parse_json(ended.out);
        ASSERT_TRUE(answer.has_value()) << ended.out << ended.err;
        EXPECT_EQ(answer->at("verdict"), "proved");
        std::set<std::string> culprits;
        for (auto const& each : answer->at("culprits").as_array()) {
            culprits.emplace(each.at("factor").as_string());
        }
        EXPECT_EQ(culprits, expected) << ended.err;
        RecordProperty("trials", static_cast<int>(answer->at("trials").as_array().size()));
    }

    /// All nodes except four on two leaves, from n<first> on.
    static std::vector<std::string> all_but(int first) {
        std::vector<std::string> names;
        for (int i = 0; i < 16; ++i) {
            if (i < first || i >= first + 4) names.push_back(fmt::format("n{}", i));
        }
        return names;
    }
};

class Bisect : public BisectBed, public testing::WithParamInterface<Case> {};

TEST_P(Bisect, NamesWhatMadeItSlow) {
    auto const& is = GetParam();
    write("good", {}, false);
    write("bad", is.bad, true);
    rehearse("good", all_but(2));
    if (!is.slow_leaf.empty()) bed().control({"shape", is.slow_leaf, "60mbit"});
    rehearse("bad", all_but(is.slow_leaf.empty() ? 2 : 10));
    expect_culprits(is.culprits);
}

INSTANTIATE_TEST_SUITE_P(Case, Bisect, testing::ValuesIn(kAll),
                         [](auto const& each) { return each.param.name; });

class BisectOfMocks : public BisectBed {
protected:
    void SetUp() override {
        BisectBed::SetUp();
        if (IsSkipped() || HasFatalFailure()) return;
        set_variable(bed().environment(), "OSORA_WORKER", OSORA_BIN_DIR "/osora-worker-mock");
    }
    std::string const kExact = "OSORA_MOCK_CLOCK = \"steps\"\n";
};

TEST_F(BisectOfMocks, NamesTheSettingThatMakesStepsLonger) {
    write("good", {.variables = kExact}, false);
    write("bad", {.variables = kExact + "OSORA_MOCK_STEP_S = \"0.03\"\n"}, true);
    rehearse("good", all_but(2));
    rehearse("bad", all_but(2));
    expect_culprits({"worker.env.OSORA_MOCK_STEP_S"});
}

TEST_F(BisectOfMocks, ScalingKnowsItsTrialsTheNextTime) {
    // A trial lasts longer than this, so that a small budget is spent on any machine.
    write("good", {.variables = kExact + "OSORA_MOCK_LOAD_S = \"0.3\"\n"}, false);
    rehearse("good");
    std::vector<std::string> const command{"bisect",  "--scaling", "demo-rehearsal", "--nodes", "2",
                                           "--steps", "5",         "--json"};
    auto const first = in_job(command);
    EXPECT_EQ(first.code, 3) << first.out << first.err;  // mocks are as fast on two nodes
    auto const runs = osora({"history", "--format", "csv"}).out;
    auto const second = in_job(command);
    EXPECT_EQ(second.code, 3) << second.out << second.err;
    EXPECT_THAT(second.err, testing::HasSubstr("8 trials are known"));
    EXPECT_EQ(osora({"history", "--format", "csv"}).out, runs);
    auto const answer = protocol::parse_json(first.out), again = protocol::parse_json(second.out);
    ASSERT_TRUE(answer.has_value() && again.has_value()) << first.out << second.out;
    ASSERT_EQ(answer->at("trials").as_array().size(), 8u);
    for (std::size_t i = 0; i < 8; ++i) {
        auto const &one = answer->at("trials").at(i), &other = again->at("trials").at(i);
        EXPECT_EQ(one.at("run"), other.at("run"));
        EXPECT_DOUBLE_EQ(one.at("value_s").as_double(), other.at("value_s").as_double());
    }
    EXPECT_EQ(answer->at("sizes").as_array().size(), 2u);
    // 3.6 seconds of a rank are not enough for twelve trials.
    auto const poor = in_job({"bisect", "--scaling", "demo-rehearsal", "--nodes", "4", "--steps",
                              "20", "--budget-gpu-h", "0.001"});
    EXPECT_EQ(poor.code, 3) << poor.out << poor.err;
    EXPECT_THAT(poor.out, testing::HasSubstr("the budget of GPU-hours is spent"));
}

TEST_F(BisectBed, AGapThatIsGoneIsNotReproducible) {
    write("good", {}, false);
    write("bad", {}, true);
    rehearse("good", all_but(2));
    bed().control({"shape", "n3", "40mbit"});
    rehearse("bad", all_but(2));
    bed().control({"shape", "n3", "200mbit"});
    auto const ended = in_job({"bisect", "1", "2", "--steps", "12", "--json"});
    EXPECT_EQ(ended.code, 3) << ended.out << ended.err;
    EXPECT_EQ(protocol::parse_json(ended.out)->at("verdict"), "not_reproducible");
}

TEST_F(BisectBed, NothingButTheNodeCount) {
    write("good", {}, false);
    rehearse("good");
    auto const ended = in_job(
        {"bisect", "--scaling", "demo-rehearsal", "--nodes", "16", "--steps", "12", "--json"}, 900);
    EXPECT_EQ(ended.code, 0) << ended.out << ended.err;
    auto const answer = protocol::parse_json(ended.out);
    ASSERT_TRUE(answer.has_value()) << ended.out << ended.err;
    EXPECT_EQ(answer->at("verdict"), "proved");
    EXPECT_EQ(answer->at("sizes").as_array().size(), 5u);
}

}  // namespace
}  // namespace osora::cluster
