// One simulated run: a controller, its agents, workers, network and disk, the faults of the seed,
// and the invariants that must hold at all times.
#pragma once

#include "tests/sim/agent_process.hpp"
#include "tests/sim/controller_process.hpp"
#include "tests/sim/disk.hpp"
#include "tests/sim/network.hpp"
#include "tests/sim/scenario.hpp"
#include "tests/sim/workers.hpp"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace osora::sim {

/// How a run ended, to be checked against its faults.
struct Ending {
    protocol::RunStatus status;       // folded from the journal
    std::vector<std::string> causes;  // of each relaunch, and of the end
    bool finished = false;            // reported by a controller
    int exit_code = 0;
    int whole_steps = 0;  // in the journal, reported by all ranks
    Time stop_asked{}, finished_at{};
};

class Cluster {
public:
    Cluster(std::uint64_t seed, int agents, bool print);

    /// Runs until nothing of the run lives, or its time is over.
    Ending run();

    // For the parts.
    [[nodiscard]] AgentProcess* agent(int pid);
    [[nodiscard]] daemon::ControllerOptions controller_options() const;
    [[nodiscard]] std::string boot_id(int node) const { return "boot-" + std::to_string(node); }
    void start_agent(int node, int agent_number);
    void stop_agent(daemon::StopAgent const& order);
    void agent_ended(int pid, int exit_code, int signal);
    void recorded(protocol::RunEvent const& event);
    void run_ended();  // RunEnded is durable
    void controller_finished();

    World world;
    Scenario scenario;
    std::string token = std::string(64, 'a');
    Time wall_offset{};
    bool no_port = false;  // the next bind of a store fails
    Disk disk;
    Network network;
    Workers workers;
    ControllerProcess controller;

private:
    void inject(Fault& fault);
    void inject_worker(Fault& fault);
    void inject_agent(Fault& fault);
    void inject_controller(Fault& fault);
    void inject_stop(Fault& fault);
    void ask_to_stop(bool now);
    void kill_by_backend(daemon::StopAgent const& order, int incarnation);
    [[nodiscard]] AgentProcess* agent_of(int node);
    [[nodiscard]] bool nothing_left() const;
    void check();
    void count_steps(std::vector<protocol::JournalRecord> const& records);
    void count_collectives(std::vector<protocol::JournalRecord> const& records);

    std::map<int, std::unique_ptr<AgentProcess>> agents_;  // by pid
    std::vector<std::unique_ptr<AgentProcess>> dead_;      // until the event is over
    std::vector<Time> backend_floor_;  // by node: orders run one after the other
    int last_pid_ = 1000;
    Ending ending_;
    protocol::RunStatus seen_;  // folded from the journal while it is written
    bool ended_ = false;
};

/// What is wrong with `ending`, given the run's faults; empty when it is right.
[[nodiscard]] std::vector<std::string> judge(Scenario const& scenario, Ending const& ending);

}  // namespace osora::sim
