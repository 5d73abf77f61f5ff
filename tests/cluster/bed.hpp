// A cluster on this machine for the tests of one file (tests/cluster/bed): nodes n0, n1, ... with
// Slurm and sshd, and ctl, where slurmctld runs and users log in. It ends with the test program,
// even when that is killed. Without root or the packages the tests are skipped, with the reason.
#pragma once

#include "base/environment.hpp"
#include "base/process/process.hpp"
#include "tests/kit/program.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace osora::cluster {

using tests::content_of;
using tests::Ended;
using tests::eventually;

struct BedOptions {
    int nodes = 4;
    int leaf_size = 2;                         // nodes on a leaf switch
    std::string rate = "none";                 // of each node's link, as tc writes it: "1gbit"
    std::string trunk_rate = "none";           // of each leaf's link to the spine
    std::string second_rate = {};              // of a second card, eth1; empty: there is none
    std::vector<std::string> slurm_conf = {};  // more lines; a later one wins
    bool slurm = true;
    bool sshd = true;
};

/// A command on a node, while it runs.
class Running : public tests::Running {
public:
    explicit Running(tests::Running program) : tests::Running(std::move(program)) {}
    /// Signals the command itself, not the processes that it started.
    void signal(int number) const;
};

class Bed {
public:
    /// Why no bed can run here; empty when one can.
    [[nodiscard]] static std::string missing();
    /// Returns when every node is idle.
    [[nodiscard]] static Result<std::unique_ptr<Bed>> start(BedOptions const& options);
    ~Bed();
    Bed(Bed const&) = delete;

    /// `where`: "n0", "ctl", or "alice@n0", "bob@n0" for users who are not root. Arguments are
    /// data, no shell.
    [[nodiscard]] Running start_on(std::string const& where, std::vector<std::string> const& argv);
    [[nodiscard]] Ended run(std::string const& where, std::vector<std::string> const& argv,
                            double limit_s = tests::kPatience_s);
    /// The same with a bash program, for pipes and redirections.
    [[nodiscard]] Ended shell(std::string const& where, std::string const& program,
                              double limit_s = tests::kPatience_s);

    /// Runs a command of tests/cluster/bed; the test fails when the command fails:
    /// control({"power", "n1", "off"}), {"link", "n1", "down"}, {"daemon", "slurmd@n1", "kill"}...
    void control(std::vector<std::string> const& words);
    /// Switches everything on and plugs everything in again; every node is idle within `limit_s`.
    [[nodiscard]] bool heal(double limit_s = tests::kPatience_s * 2);
    [[nodiscard]] bool all_idle();

    /// A folder that all nodes and this machine see under the same name; removed with the bed.
    [[nodiscard]] std::filesystem::path const& folder() const { return folder_; }
    /// A small file system of the nodes: control({"disk", "full"}).
    [[nodiscard]] std::filesystem::path small_disk() const { return folder_ / "small"; }
    /// The path on this machine of what the nodes see as `path`.
    [[nodiscard]] std::filesystem::path from_here(std::filesystem::path const& path) const;
    /// The environment of commands; HOME, USER and SLURM_CONF are added.
    Environment& environment() { return environment_; }
    /// "alice", or "root" where only root can read what was built.
    [[nodiscard]] std::string user();
    /// The ancestor of all processes of the bed.
    [[nodiscard]] Child const& process() const { return process_; }

    /// Takes over what start() made.
    Bed(std::filesystem::path folder, BedOptions options, Child process);

private:
    std::filesystem::path folder_;
    BedOptions options_;
    Child process_;
    Environment environment_;
    int started_ = 0;
};

/// One bed for all tests of a fixture. For other options a fixture has its own SetUpTestSuite.
class BedTest : public testing::Test {
protected:
    static void SetUpTestSuite() { open({}); }
    static void TearDownTestSuite() { bed_.reset(); }
    static void open(BedOptions const& options);

    void SetUp() override;
    /// Repairs what a test broke, so that each test starts on a whole cluster.
    void TearDown() override;

    static Bed& bed() { return *bed_; }

private:
    inline static std::unique_ptr<Bed> bed_;
    inline static std::string missing_, failure_;
};

}  // namespace osora::cluster
