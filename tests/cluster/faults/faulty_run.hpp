// A run of mock workers on a bed, started by `osora submit` as a user would, with any backend; and
// functions that break it and show how it ended: its journal, its processes on all nodes.
#pragma once

#include "tests/cluster/bed.hpp"
#include "tests/kit/run_folder.hpp"

#include <map>
#include <string>
#include <vector>

namespace osora::cluster {

struct FaultSpec {
    int nodes = 3;  // local: 1
    int ranks_per_node = 2;
    int spares = 0;
    int steps = 400;  // of 10 ms
    int max_restarts = 2;
    double step_timeout_s = 0;
    double lost_after_s = tests::kPatience_s;     // silence of an agent
    double lease_s = tests::kPatience_s;          // of local agents, without a controller
    bool small_disk = false;                      // the state folder is on Bed::small_disk()
    std::map<std::string, std::string> env = {};  // OSORA_MOCK_*
};

class FaultyRun {
public:
    FaultyRun(Bed& bed, std::string backend)
        : bed_(bed),
          backend_(std::move(backend)),
          user_(bed.user()),
          state_(home() / ".local/state/osora") {}
    FaultyRun(FaultyRun const&) = delete;
    /// No process of the run survives the test.
    ~FaultyRun();

    /// Submits it, detached; returns osora's output when it refused, else "". Its ranks wait before
    /// step kHeldStep until release().
    [[nodiscard]] std::string submit(std::string const& name, FaultSpec const& spec);
    static constexpr int kHeldStep = 20;
    void release() const { folder().release(); }
    /// Waits until every node has done `steps` steps; the test fails when that takes `limit_s`.
    void await_steps(int steps, double limit_s = tests::kPatience_s) const;
    /// Waits for the end; a default RunEnded, and a failed test, after `limit_s`.
    [[nodiscard]] protocol::RunEnded await_end(double limit_s) const;

    template <class T>
    [[nodiscard]] std::vector<T> events() const {
        return folder().events<T>();
    }

    /// The machine of the bed that a node of the run is on.
    [[nodiscard]] std::string machine_of(int node) const;
    [[nodiscard]] int node_of_rank(int rank) const;
    void signal_rank(int rank, int signal) const;
    void signal_agent(int node, int signal) const;
    void kill_controller() const;

    /// Whether the newest controller of the run lives.
    [[nodiscard]] bool has_controller() const;
    /// The verdict and the cause in the history.
    [[nodiscard]] std::pair<std::string, std::string> history() const;
    /// osora on the machine that the run was submitted from.
    [[nodiscard]] Ended osora(std::vector<std::string> arguments,
                              double limit_s = tests::kPatience_s) const;
    [[nodiscard]] std::string const& backend() const { return backend_; }
    [[nodiscard]] std::filesystem::path run_dir() const;
    /// The processes of the run on all machines of the bed.
    [[nodiscard]] tests::RunFolder folder() const {
        return tests::RunFolder(bed_.from_here(run_dir()));
    }
    /// A command of the run's user on a machine.
    [[nodiscard]] Ended on(std::string const& machine, std::vector<std::string> const& argv) const;
    [[nodiscard]] std::string logs() const { return folder().logs(); }

private:
    [[nodiscard]] std::string run_file(std::string const& name, FaultSpec const& spec) const;
    [[nodiscard]] std::filesystem::path home() const;
    /// The file that releases the ranks is elsewhere: the run folder may be on a disk that becomes
    /// full.
    void link_release() const;

    Bed& bed_;
    std::string backend_, user_;
    std::filesystem::path state_;
    std::string name_;  // "rank_killed-0001": name of the run folder
};

}  // namespace osora::cluster
