// The submitter's variables reach the ranks on other nodes through the input with which a backend
// starts agents.
#include "protocol/environment_file.hpp"
#include "tests/cluster/user.hpp"
#include "tests/kit/size.hpp"

#include <fmt/format.h>

#include <fstream>
#include <random>

namespace osora::cluster {
namespace {

using testing::HasSubstr;
using testing::Not;

/// Values with every byte except zero.
Environment random_environment(unsigned seed, std::size_t bytes) {
    std::mt19937 numbers(seed);
    Environment environment{"ODD_0=a,b=c", "ODD_1=", "ODD_2=$HOME `id` \\ \"' #", "ODD_3=x\n\ny\n",
                            "BASH_FUNC_odd%%=() {  echo odd\n}"};
    for (std::size_t have = 0; have < bytes;) {
        std::string value;
        for (std::size_t length = numbers() % 2000; length > 0; --length) {
            value += static_cast<char>(1 + numbers() % 255);
        }
        environment.push_back(fmt::format("ODD_{}={}", environment.size(), value));
        have += environment.back().size() + 1;
    }
    return environment;
}

class ClusterEnvironment : public UserTest, public testing::WithParamInterface<char const*> {
protected:
    static void SetUpTestSuite() { open({.nodes = 3}); }
    void SetUp() override {
        UserTest::SetUp();
        if (IsSkipped()) return;
        std::ofstream(folder_ / "run.toml")
            << "[run]\nname = \"env\"\njob = \"exec\"\n"
            << "[resources]\nnodes = 3\ngpus_per_node = 2\n"
            << "[probe]\nbefore_start = \"never\"\n"
            << "[ssh]\nhosts = [\"n0\", \"n1\", \"n2\"]\n"
            << "[worker]\ncommand = [\"sh\", \"-c\", 'cat /proc/$$/environ > \"$OUT/$RANK\"']\n";
    }
    [[nodiscard]] Ended submit_with(Environment const& more) const {
        Environment const before = bed().environment();
        for (auto const& each : more) bed().environment().push_back(each);
        set_variable(bed().environment(), "OUT", out().string());
        set_variable(bed().environment(), "HOSTNAME", "elsewhere");
        auto ended = osora({"submit", "run.toml", "--backend", GetParam()});
        bed().environment() = before;
        return ended;
    }
    [[nodiscard]] std::filesystem::path out() const { return folder_ / "out"; }
};

TEST_P(ClusterEnvironment, ArrivesByteForByte) {
    std::filesystem::create_directory(out());
    std::size_t values = 0;
    int const launches = tests::test_size("OSORA_LAUNCHES", 1);
    for (int launch = 1; launch <= launches; ++launch) {
        auto const odd = random_environment(static_cast<unsigned>(launch), 480'000);
        auto const ended = submit_with(odd);
        auto const name = fmt::format("env-{:04}", launch);
        ASSERT_EQ(ended.code, 0) << ended.out << ended.err << logs(name);
        for (int rank = 0; rank < 6; ++rank) {
            std::string const seen = '\0' + content_of(out() / std::to_string(rank));
            for (std::string const& entry : odd) {
                bool const there = seen.find('\0' + entry + '\0') != std::string::npos;
                ASSERT_TRUE(there) << "rank " << rank << ": " << entry.substr(0, 40);
            }
            if (std::string_view(GetParam()) == "ssh") {
                EXPECT_THAT(seen, Not(HasSubstr("HOSTNAME=elsewhere"))) << "of another machine";
            }
            std::filesystem::remove(out() / std::to_string(rank));
        }
        values += odd.size();
    }
    RecordProperty("values", std::to_string(values));
}

TEST_P(ClusterEnvironment, OverTheLimitIsRefusedBeforeAnythingIsStarted) {
    auto const refused = submit_with(random_environment(8, protocol::kEnvironmentBytesMax));
    EXPECT_NE(refused.code, 0);
    EXPECT_THAT(refused.err, HasSubstr("osora passes at most 512 KiB"));
    EXPECT_FALSE(std::filesystem::exists(run_dir("env-0001")));
}

INSTANTIATE_TEST_SUITE_P(Backends, ClusterEnvironment, testing::Values("slurm", "ssh"),
                         [](auto const& info) { return std::string(info.param); });

}  // namespace
}  // namespace osora::cluster
