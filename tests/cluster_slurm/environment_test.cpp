// The submitter's variables, through sbatch, the batch step, srun and the agent to the ranks.
#include "protocol/environment_file.hpp"
#include "tests/cluster_slurm/slurm_fixture.hpp"

#include <fmt/format.h>

#include <fstream>
#include <random>

namespace osora::cluster {
namespace {

using testing::HasSubstr;

/// Values with every byte but zero.
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

class SlurmEnvironment : public SlurmTest {
protected:
    void write_exec_file() const {
        std::ofstream(folder_ / "run.toml")
            << "[run]\nname = \"env\"\njob = \"exec\"\n"
               "[resources]\nbackend = \"slurm\"\nnodes = 3\ngpus_per_node = 2\n"
               "[worker]\ncommand = [\"sh\", \"-c\", 'cat /proc/$$/environ > \"$OUT/$RANK\"']\n";
    }
};

TEST_F(SlurmEnvironment, ArrivesByteForByte) {
    write_exec_file();
    auto const out = folder_ / "out";
    std::filesystem::create_directory(out);
    std::size_t values = 0;
    for (unsigned launch = 1; launch <= LAUNCHES; ++launch) {
        auto const odd = random_environment(launch, 480'000);
        Environment const before = bed().environment();
        bed().environment().insert(bed().environment().end(), odd.begin(), odd.end());
        set_variable(bed().environment(), "OUT", out.string());
        auto const ended = osora({"submit", "run.toml"}, 90);
        bed().environment() = before;
        auto const name = fmt::format("env-{:04}", launch);
        ASSERT_EQ(ended.code, 0) << ended.out << ended.err << logs(name);
        for (int rank = 0; rank < 6; ++rank) {
            std::string const seen = '\0' + content_of(out / std::to_string(rank));
            for (std::string const& entry : odd) {
                bool const there = seen.find('\0' + entry + '\0') != std::string::npos;
                ASSERT_TRUE(there) << "rank " << rank << ": " << entry.substr(0, 40);
            }
        }
        values += odd.size();
    }
    RecordProperty("values", std::to_string(values));
}

TEST_F(SlurmEnvironment, OverTheLimitIsRefusedBeforeAnythingIsQueued) {
    write_exec_file();
    auto const large = random_environment(8, protocol::kEnvironmentBytesMax);
    Environment const before = bed().environment();
    bed().environment().insert(bed().environment().end(), large.begin(), large.end());
    auto const refused = osora({"submit", "run.toml"}, 30);
    bed().environment() = before;
    EXPECT_NE(refused.code, 0);
    EXPECT_THAT(refused.err, HasSubstr("osora carries 512 KiB"));
    EXPECT_FALSE(std::filesystem::exists(run_dir("env-0001")));
}

}  // namespace
}  // namespace osora::cluster
