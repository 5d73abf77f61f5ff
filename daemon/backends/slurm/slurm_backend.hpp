// Agents as tasks of srun steps inside an allocation: one step for all nodes at the start, one for
// each agent that is started again. srun's messages report an end, which is then checked on the
// host. Private to shells (Asio inside).
#pragma once

#include "base/environment.hpp"
#include "base/files/descriptor.hpp"
#include "base/log/log.hpp"
#include "base/process/process.hpp"
#include "base/task_group.hpp"
#include "daemon/agent/agent_start.hpp"
#include "daemon/backends/backend.hpp"
#include "daemon/backends/host_faults.hpp"
#include "slurm/placement.hpp"
#include "slurm/step_output.hpp"

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace osora::daemon {

struct SlurmOptions {
    std::filesystem::path srun, osorad;
    std::string job_id;
    std::string container;
    Environment environment;  // of srun and, through it, of agents and workers
    AgentStart start;         // `node` is set later
    slurm::PlacementOptions placement;
    double remote_command_limit_s = 6;  // after so long a silent host is given up
    OnHostFault on_fault;
};

class SlurmBackend final : public Backend {
public:
    SlurmBackend(SlurmOptions options, TaskGroup& tasks, Logger& log, OnExited on_exited);

    void set_address(AgentAddress const& address) override;
    void start_agent(StartAgent const& order) override;
    void stop_agent(StopAgent const& order) override;
    void blame_host(BlameHost const& order) override;

private:
    struct Agent {
        int agent_number = 0;
        std::string host;
        bool stopping = false;                   // end_agent() reports its end
        std::optional<slurm::TaskEnd> end = {};  // while stopping: srun's report of its end
    };
    struct Step {
        Child child;
        Descriptor messages;  // srun's stderr: memory that outlives this controller
        std::vector<std::pair<int, int>> agents;  // node and agent_number, by task
        std::size_t read = 0;                     // bytes of the messages that were read
        std::string all, line;
        bool said_end = false;  // of a task; srun never mentions those that end with 0
    };

    boost::asio::awaitable<void> launch_gathered();
    void launch(std::vector<StartAgent> const& orders, std::string const& log_name);
    [[nodiscard]] Result<Step> spawn_step(std::vector<StartAgent> const& orders,
                                          std::string const& log_name) const;
    boost::asio::awaitable<void> watch(std::shared_ptr<Step> step);
    void read_messages(Step& step);
    void take(Step& step, slurm::StepLine const& line);
    void ended(int node, int agent_number, slurm::TaskEnd const& end, std::string error);
    boost::asio::awaitable<void> report(AgentExited exited, std::string host);
    boost::asio::awaitable<void> end_agent(StopAgent order);
    /// How the agent of `order` ended, if it ends by itself now.
    boost::asio::awaitable<std::optional<slurm::TaskEnd>> own_end(StopAgent order);
    /// Kills what is left of a node's agent and workers on `host`; -1: the host does not answer.
    boost::asio::awaitable<int> sweep(StopAgent order, std::string host);
    void fault(std::string const& host, int weight, std::string const& cause);

    SlurmOptions options_;
    TaskGroup& tasks_;
    Logger& log_;
    OnExited on_exited_;
    slurm::Placement placement_;
    std::map<int, Agent> agents_;  // by node
    std::vector<StartAgent> gathered_;
};

}  // namespace osora::daemon
