// Workers of all attempts: they start, load, train in step, save checkpoints, and notice the death
// of a peer late or never. A group trains only while every rank of its attempt takes part.
#pragma once

#include "protocol/messages/agent_messages.hpp"
#include "protocol/messages/worker_messages.hpp"
#include "tests/sim/world.hpp"

#include <map>
#include <optional>
#include <vector>

namespace osora::sim {

class Cluster;

struct Worker {
    int agent_pid = 0, node = 0, rank = 0, attempt = 0, pid = 0;
    bool ready = false;  // has loaded, and waits for its group
    bool hung = false;   // sends and does nothing any more
    bool asked_to_stop = false;
    bool ignores_term = false;
    bool ending = false;  // has reported that it has finished
};

class Workers {
public:
    explicit Workers(Cluster& cluster) : cluster_(cluster) {}

    // What an agent does to its workers.
    void spawn(int agent_pid, int node, protocol::LaunchWorkers const& launch);
    void tell(int agent_pid, protocol::StopWorker const& message);
    void signal(int agent_pid, int signal);
    void agent_died(int agent_pid);

    // Faults. Each returns a training worker that is not ending; nullptr when there is none.
    [[nodiscard]] Worker* pick();
    void end(int pid, int exit_code, int signal);
    void hang(int pid);

    [[nodiscard]] int count() const { return static_cast<int>(alive_.size()); }
    [[nodiscard]] int count_of_agent(int agent_pid) const;
    [[nodiscard]] int count_on_node(int node) const;
    [[nodiscard]] int saved_step() const { return saved_step_; }

private:
    struct Group {
        int world_size = 0, ready = 0, step = 0;
        bool broken = false;
    };
    void start(int pid);
    void say(Worker const& worker, protocol::FromWorker const& message);
    void all_say(int attempt, protocol::FromWorker const& message);
    void begin_step(int attempt);
    void end_step(int attempt);
    void save(int attempt);
    void finish(int attempt, bool stopped);
    void finish_one(Worker& worker, int steps, bool stopped);
    void break_group(int attempt);
    [[nodiscard]] std::vector<Worker*> members(int attempt);
    [[nodiscard]] Worker* worker(int pid);

    Cluster& cluster_;
    std::map<int, Worker> alive_;  // by pid
    std::map<int, Group> groups_;  // by attempt
    int last_pid_ = 100'000;
    int saved_step_ = 0;  // of the last checkpoint
};

}  // namespace osora::sim
