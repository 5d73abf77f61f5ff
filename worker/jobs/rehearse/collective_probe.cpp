// One long-lived group; smaller ones are split from it. All ranks of a group decide alike because
// they decide on the same numbers: the largest times and clocks of any of them.
#include "worker/jobs/rehearse/collective_probe.hpp"

#include "base/env.hpp"
#include "base/files/files.hpp"
#include "base/host_name.hpp"
#include "plan/collective_request.hpp"
#include "protocol/json_file.hpp"
#include "protocol/run_directory.hpp"
#include "topology/probe/probe_summary.hpp"
#include "worker/jobs/job_parts.hpp"
#include "worker/parallel/collective_op.hpp"

#include <ATen/Parallel.h>
#include <ATen/ops/from_blob.h>
#include <fmt/format.h>
#include <unistd.h>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <exception>
#include <set>

namespace osora::worker {
namespace {

using Clock = std::chrono::steady_clock;
using Backend = c10::intrusive_ptr<c10d::Backend>;

constexpr std::int64_t kCpuBytesMax = 256 << 20;  // a CPU rank shares its memory with the others

/// Element by element, over the ranks of a Gloo backend.
void maximum_over_ranks(c10d::Backend& backend, std::vector<double>& values) {
    std::vector<at::Tensor> tensors{
        at::from_blob(values.data(), {static_cast<std::int64_t>(values.size())}, at::kDouble)};
    c10d::AllreduceOptions options;
    options.reduceOp = c10d::ReduceOp::MAX;
    backend.allreduce(tensors, options)->wait();
}

/// "0-3", "0-1-2", "0-1-...-63": groups of a large job stay one line.
std::string names_of(std::vector<int> const& ranks) {
    constexpr std::size_t kAllShown = 8;
    if (ranks.size() <= kAllShown) return fmt::format("{}", fmt::join(ranks, "-"));
    return fmt::format("{}-{}-...-{}", ranks[0], ranks[1], ranks.back());
}

/// A group that this rank is in. `backend` carries what is timed, `control` what ranks agree on.
struct Members {
    std::string name;  // "" = world
    std::vector<int> ranks;
    Backend owned_backend, owned_control;  // null: the world's
    c10d::Backend* backend = nullptr;
    c10d::Backend* control = nullptr;
};

/// A collective over the groups of a set, size after size.
struct Case {
    std::string const& collective;
    double deadline_s = 0;  // since the probe began; 0: not begun
    double soon_s = 0;      // a size that scatters leaves half of the time to those after it
    struct Measured {
        double bytes = 0, seconds = 0;
    };
    std::vector<Measured> measured = {};  // the last two

    /// Time of all iterations of that size: extrapolated along the line through the last two; with
    /// only one, which may be mostly latency, along the square root.
    [[nodiscard]] double expected_s(std::int64_t size,
                                    plan::CollectiveRequest const& request) const {
        if (measured.empty()) return 0;
        auto const& last = measured.back();
        auto const bytes = static_cast<double>(size);
        double once = last.seconds * std::sqrt(std::max(1.0, bytes / last.bytes));
        if (auto const& first = measured.front(); first.bytes < last.bytes) {
            double const slope = (last.seconds - first.seconds) / (last.bytes - first.bytes);
            once = last.seconds + std::max(0.0, slope) * (bytes - last.bytes);
        }
        return once * (request.iterations_min + 1);
    }
    void add(std::int64_t size, double seconds) {
        if (measured.size() == 2) measured.erase(measured.begin());
        measured.push_back({static_cast<double>(size), seconds});
    }
};

class Prober {
public:
    Prober(plan::CollectiveRequest const& request, Group const& world, Device const& device,
           int ranks_per_node, std::function<bool()> stopped)
        : request_(request),
          world_(world),
          device_(device),
          ranks_per_node_(std::max(1, ranks_per_node)),
          stopped_(std::move(stopped)),
          cases_left_(static_cast<int>((request.group_sets.size() + (request.world ? 1 : 0)) *
                                       request.collectives.size())) {}

    topology::CollectiveTimes run() {
        if (request_.world) {
            Members all{.name = "",
                        .ranks = {},
                        .owned_backend = {},
                        .owned_control = {},
                        .backend = &world_.device_backend(),
                        .control = &world_.backend()};
            for (int rank = 0; rank < world_.world_size(); ++rank) all.ranks.push_back(rank);
            probe_set("world", {std::move(all)});
        }
        for (std::size_t i = 0; i < request_.group_sets.size() && !ended_; ++i)
            probe_set(request_.group_sets[i].name, split(request_.group_sets[i], i));
        gather();
        return world_.rank() == 0 ? std::move(answer_) : topology::CollectiveTimes{};
    }

private:
    /// This rank's group of the set; none when it is in no group.
    std::vector<Members> split(plan::ProbeGroupSet const& set, std::size_t index) {
        for (auto const& ranks : set.groups) {
            if (std::ranges::find(ranks, world_.rank()) == ranks.end()) continue;
            Members mine{.name = set.name + ": " + names_of(ranks),
                         .ranks = ranks,
                         .owned_backend = {},
                         .owned_control = split_from(world_.backend(), ranks, index, "control"),
                         .backend = nullptr,
                         .control = nullptr};
            mine.control = mine.backend = mine.owned_control.get();
            if (device_.is_gpu()) {
                mine.owned_backend = split_from(world_.device_backend(), ranks, index, "device");
                mine.backend = mine.owned_backend.get();
            }
            return {std::move(mine)};
        }
        return {};
    }
    Backend split_from(c10d::Backend& parent, std::vector<int> const& ranks, std::size_t set,
                       char const* what) {
        auto store = c10::make_intrusive<c10d::PrefixStore>(
            fmt::format("probe/{}/{}/{}", set, ranks.front(), what), world_.store_handle());
        return parent.split(std::move(store), ranks, parent.getBackendOptions());
    }

    /// Each collective of each set gets an equal share of the time that is left; sizes that would
    /// not fit into it are left out, so that slow links are measured with small ones.
    void probe_set(std::string const& name, std::vector<Members> const& mine) {
        for (auto const& collective : request_.collectives) {
            Case now{.collective = collective};
            for (std::int64_t const size : request_.sizes_bytes) {
                // All groups of the set begin together, and give up together.
                std::vector<double> figures{seconds_since(begin_), now.expected_s(size, request_),
                                            stopped_() ? 1.0 : 0.0};
                maximum_over_ranks(world_.backend(), figures);
                ended_ = figures[2] > 0;
                if (ended_) return;  // what is measured is the answer
                if (now.deadline_s == 0) now.deadline_s = next_deadline(figures[0]);
                now.soon_s = (figures[0] + now.deadline_s) / 2;
                bool const memory = !device_.is_gpu() && size > kCpuBytesMax;
                if (memory || figures[0] + figures[1] > now.deadline_s) {
                    answer_.left_out.push_back(fmt::format("{}: {} {} B", name, collective, size));
                } else if (!mine.empty()) {
                    probe_one(mine.front(), now, size);
                }
            }
        }
    }

    double next_deadline(double now_s) {
        double const left = std::max(0.0, request_.time_limit_s - now_s);
        return now_s + left / std::max(1, cases_left_--);
    }

    void probe_one(Members const& group, Case& now, std::int64_t size) {
        CollectiveOp operation(now.collective, size, *group.backend, device_);
        operation.run();  // connections and caches
        std::vector<double> times;
        plan::TimesSummary summary;
        bool late = false;
        while (!summary.enough && !late) {
            group.control->barrier()->wait();
            auto const start = Clock::now();
            operation.run();
            std::vector<double> figures{seconds_since(start), seconds_since(begin_),
                                        stopped_() ? 1.0 : 0.0};
            maximum_over_ranks(*group.control, figures);
            times.push_back(figures[0]);
            summary = plan::summarise_times(times, request_);
            bool const few = static_cast<int>(times.size()) < request_.iterations_min;
            late = figures[2] > 0 || figures[1] > (few ? now.deadline_s : now.soon_s);
        }
        now.add(operation.size_bytes(), summary.median_s);
        if (group.ranks.front() != world_.rank()) return;
        std::set<int> nodes;
        for (int const rank : group.ranks) nodes.insert(rank / ranks_per_node_);
        answer_.samples.push_back({.backend = device_.is_gpu() ? "nccl" : "gloo",
                                   .collective = now.collective,
                                   .ranks = static_cast<int>(group.ranks.size()),
                                   .nodes = static_cast<int>(nodes.size()),
                                   .size_bytes = operation.size_bytes(),
                                   .time_us = summary.median_s * 1e6,
                                   .group = group.name});
    }

    /// Rank 0 takes over what the first ranks of other groups have measured.
    void gather() {
        std::set<int> leaders;
        for (auto const& set : request_.group_sets) {
            for (auto const& ranks : set.groups) leaders.insert(ranks.front());
        }
        leaders.erase(0);
        auto const key = [](int rank) { return fmt::format("probe/samples/{}", rank); };
        c10d::Store& store = world_.store();
        if (leaders.contains(world_.rank())) {
            std::string const text = protocol::encode(answer_);
            store.set(key(world_.rank()), std::vector<std::uint8_t>(text.begin(), text.end()));
        }
        for (int const rank : leaders) {
            if (world_.rank() != 0) break;
            auto const bytes = store.get(key(rank));
            auto const theirs = protocol::decode<topology::CollectiveTimes>(
                std::string(bytes.begin(), bytes.end()));
            if (theirs.has_error()) continue;
            std::ranges::copy(theirs->samples, std::back_inserter(answer_.samples));
        }
        // Nobody leaves while rank 0, whose store it is, still reads.
        world_.backend().barrier()->wait();
    }

    plan::CollectiveRequest const& request_;
    Group const& world_;
    Device const& device_;
    int ranks_per_node_;
    std::function<bool()> stopped_;
    int cases_left_;
    bool ended_ = false;  // all ranks know it
    Clock::time_point begin_ = Clock::now();
    topology::CollectiveTimes answer_;
};

Result<void> check_split(plan::CollectiveRequest const& request, Device const& device,
                         int world_size) {
    for (auto const& set : request.group_sets) {
        std::size_t members = 0;
        for (auto const& ranks : set.groups) members += ranks.size();
        if (!device.is_gpu() || members == static_cast<std::size_t>(world_size)) continue;
        return Error{Errc::invalid_input,
                     fmt::format("probe: {}: NCCL splits all {} ranks or none; {} are in a group",
                                 set.name, world_size, members)};
    }
    return {};
}

}  // namespace

Result<topology::CollectiveTimes> probe_collectives(plan::CollectiveRequest const& request,
                                                    Group const& group, Device const& device,
                                                    int ranks_per_node,
                                                    std::function<bool()> stopped) {
    OSORA_TRY_VOID(plan::check_collective_request(request, group.world_size()));
    OSORA_TRY_VOID(check_split(request, device, group.world_size()));
    // The step boundary: what LibTorch throws becomes an Error here.
    try {
        return Prober(request, group, device, ranks_per_node, std::move(stopped)).run();
    } catch (std::exception const& error) {
        std::string const text = error.what();
        return Error{Errc::unreachable, "probe: " + text.substr(0, text.find('\n'))};
    }
}

Result<TrainOutcome> run_collective_probe(plan::WorkerJob const& job, RankEnvironment const& self,
                                          AgentLink& agent) {
    using protocol::Phase;
    constexpr double kSlack_s = 60;
    OSORA_TRY_VOID(plan::check_collective_request(job.collectives, self.world_size));
    at::set_num_threads(1);
    agent.send(protocol::PhaseChanged{.phase = Phase::loading, .limit_s = 0});
    OSORA_TRY(Device const device, Device::choose(cuda_module_path(), self.local_rank));
    OSORA_TRY(auto const group, join_ranks(self, device, waiting_of(job)));
    agent.send(protocol::WorkerHello{.rank = self.rank,
                                     .pid = static_cast<int>(::getpid()),
                                     .start_step = 0,
                                     .facts = process_facts(device)});
    agent.send(protocol::PhaseChanged{.phase = Phase::first_step,
                                      .limit_s = job.collectives.time_limit_s + kSlack_s});
    OSORA_TRY(auto const answer,
              probe_collectives(job.collectives, *group, device, self.local_world_size,
                                [&] { return agent.stop_order().has_value(); }));
    agent.send(protocol::PhaseChanged{.phase = Phase::finishing, .limit_s = 0});
    TrainOutcome const done{job.config.train.steps, false};
    if (self.rank != 0) return done;
    // For the history, and for the requester.
    agent.send(protocol::ProbeMeasured{
        protocol::json::object{{"collectives", protocol::to_json(answer.samples)}}});
    protocol::RunPaths const paths{job.run_dir};
    auto links = protocol::read_json_file<topology::ProbeResult>(paths.probe_run().probe());
    // Without a probe before the start there are only the collectives.
    auto result = topology::with_collectives(
        links.has_value() ? std::optional(std::move(*links)) : std::nullopt, answer,
        RealEnv().wall_us());
    result.source = job.run_uuid;
    if (result.nodes.empty() && self.world_size == self.local_world_size) {
        result.nodes = {host_name()};
    }
    OSORA_TRY_VOID(write_file_atomic(paths.probe(), protocol::encode(result) + "\n"));
    return done;
}

}  // namespace osora::worker
