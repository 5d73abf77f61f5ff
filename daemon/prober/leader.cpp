// Rounds of transfers as the schedule says, then reads of the storage, then the result.
#include "daemon/prober/leader.hpp"

#include "base/ids.hpp"
#include "base/robust.hpp"
#include "topology/probe/probe_analysis.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace osora::daemon {
namespace {

using topology::PairSample;
using topology::ProbeFinding;
using topology::ProbeResult;

constexpr double kSlowStorage = 0.5;  // of the median of the nodes

double transfer_s(topology::ProbeRequest const& request) {
    return request.warm_s + request.window_s;
}

/// Encoded here: g++ 12 warns of uninitialised members in a variant inside a variant.
TellProber tell(int rank, ToProber const& message) {
    return {rank, protocol::encode_message(message)};
}

/// Nodes that read far slower than the others do at the same time.
void find_slow_storage(ProbeResult& result) {
    std::vector<double> rates;
    for (auto const& each : result.storage) {
        if (!each.alone) rates.push_back(each.read_bytes_per_s);
    }
    if (rates.size() < 3) return;
    double const usual = median(rates);
    for (auto const& each : result.storage) {
        double const ratio = usual > 0 ? each.read_bytes_per_s / usual : 1;
        if (each.alone || ratio >= kSlowStorage) continue;
        auto const& name = result.nodes[static_cast<std::size_t>(each.node)];
        result.findings.push_back(
            {.kind = "slow_storage",
             .nodes = {name},
             .where = name,
             .ratio = ratio,
             .evidence = fmt::format("reads {} at {:.3g} MB/s while the others do {:.3g}",
                                     each.path, each.read_bytes_per_s / 1e6, usual / 1e6)});
    }
}

}  // namespace

ProbeLeader::ProbeLeader(LeaderOptions options) : options_(std::move(options)) {}

Result<LeaderActions> ProbeLeader::joined(double now_s, ProberHello hello, std::string address) {
    int const rank = hello.rank;
    if (!equal_constant_time(hello.token, options_.request.token)) {
        return Error{Errc::invalid_input, "prober with another token"};
    }
    if (rank < 0 || rank >= options_.world_size || probers_.contains(rank)) {
        return Error{Errc::invalid_input, fmt::format("prober with rank {}", rank)};
    }
    if (started_s_ < 0) {
        started_s_ = now_s;
        deadline_s_ = now_s + options_.join_limit_s;
    }
    // A late prober has missed the start.
    if (schedule_ || lost_.contains(rank)) return Error{Errc::invalid_input, "too late"};
    probers_.emplace(rank, Prober{std::move(hello), std::move(address)});
    if (static_cast<int>(probers_.size()) < options_.world_size) return LeaderActions{};
    return start(now_s);
}

LeaderActions ProbeLeader::start(double now_s) {
    LeaderActions actions;
    topology::ProbeSetup setup{.leaves = {},
                               .matchings = options_.request.matchings,
                               .all_pairs = options_.request.all_pairs,
                               .seed = options_.request.seed};
    std::map<std::string, std::vector<int>> networks;
    for (int rank = 0; rank < options_.world_size; ++rank) {
        auto const at = probers_.find(rank);
        if (at == probers_.end()) {
            lost_.emplace(rank, "did not come");
            result_.nodes.push_back(fmt::format("node {}", rank));
            result_.memory_copy_bytes_per_s.push_back(0);
            setup.leaves.emplace_back();
            continue;
        }
        auto const& hello = at->second.hello;
        result_.nodes.push_back(hello.host);
        result_.memory_copy_bytes_per_s.push_back(hello.memory_copy_bytes_per_s);
        auto const given = options_.request.leaves.find(hello.host);
        setup.leaves.push_back(given == options_.request.leaves.end() ? hello.leaf : given->second);
        for (auto const& each : hello.addresses) {
            auto& ranks = networks[each.network];
            bool const other = each.interface != interface_of(rank, "");
            if (other && (ranks.empty() || ranks.back() != rank)) ranks.push_back(rank);
        }
    }
    for (auto& [network, ranks] : networks) {
        if (!options_.request.networks || ranks.size() < 2) continue;
        setup.networks.push_back({network, std::move(ranks)});
    }
    result_.leaves = setup.leaves;
    schedule_.emplace(std::move(setup));
    for (auto const& [rank, why] : lost_) schedule_->lose(rank);
    auto more = next(now_s);
    std::ranges::move(more, std::back_inserter(actions));
    return actions;
}

LeaderActions ProbeLeader::next(double now_s) {
    bool const late = now_s - started_s_ > options_.request.limit_s;
    if (late) return finish();
    if (auto round = schedule_->next()) return order(now_s, std::move(*round));
    return next_storage(now_s);
}

LeaderActions ProbeLeader::order(double now_s, topology::ProbeRound round) {
    ++orders_;
    round_ = std::move(round);
    answers_.clear();
    LeaderActions actions;
    for (auto const& task : round_->pairs) {
        auto const* to = address_in(task.to, task.network);
        auto const* from = address_in(task.from, task.network);
        auto const token = fmt::format("{}-{}-{}", orders_, task.from, task.to);
        RunTransfer run;
        run.round = orders_;
        run.stream_token = token;
        actions.push_back(tell(task.to, run));
        run.connects = true;
        run.address = to == nullptr ? probers_[task.to].address : to->address;
        run.port = probers_[task.to].hello.port;
        run.bind_address = from == nullptr ? "" : from->address;
        actions.push_back(tell(task.from, run));
        waited_.insert({task.from, task.to});
    }
    deadline_s_ = now_s + transfer_s(options_.request) + options_.answer_limit_s;
    return actions;
}

LeaderActions ProbeLeader::next_storage(double now_s) {
    round_.reset();
    if (options_.request.storage_paths.empty() || storage_step_ == 2) return finish();
    bool const alone = storage_step_++ == 0;
    ++orders_;
    LeaderActions actions;
    for (auto const& [rank, prober] : probers_) {
        if (lost_.contains(rank)) continue;
        actions.push_back(tell(rank, ReadStorage{orders_, alone}));
        waited_.insert(rank);
        if (alone) break;
    }
    if (actions.empty()) return finish();
    deadline_s_ = now_s + options_.request.storage_s * 2 + options_.answer_limit_s;
    return actions;
}

LeaderActions ProbeLeader::heard(double now_s, int rank, FromProber const& message) {
    if (!waited_.contains(rank) || done_) return {};
    if (auto const* transfer = std::get_if<TransferDone>(&message)) {
        if (!round_ || transfer->round != orders_) return {};
        answers_[rank] = *transfer;
    } else if (auto const* storage = std::get_if<StorageDone>(&message)) {
        if (round_ || storage->round != orders_) return {};
        if (storage->error.empty()) {
            result_.storage.push_back(storage->sample);
            result_.storage.back().node = rank;
        } else {
            auto const& name = result_.nodes[static_cast<std::size_t>(rank)];
            result_.findings.push_back({.kind = "slow_storage",
                                        .nodes = {name},
                                        .where = name,
                                        .ratio = 0,
                                        .evidence = storage->error});
        }
    } else {
        return {};
    }
    waited_.erase(rank);
    return after_answer(now_s);
}

LeaderActions ProbeLeader::after_answer(double now_s) {
    if (!waited_.empty()) return {};
    return close_round(now_s);
}

LeaderActions ProbeLeader::close_round(double now_s) {
    LeaderActions actions;
    if (round_) {
        RoundMeasured measured;
        for (auto const& task : round_->pairs) {
            auto samples = samples_of(task);
            std::ranges::move(samples, std::back_inserter(measured.part.pairs));
        }
        schedule_->add(measured.part.pairs);
        actions.push_back(std::move(measured));
    }
    auto more = next(now_s);
    std::ranges::move(more, std::back_inserter(actions));
    return actions;
}

std::vector<PairSample> ProbeLeader::samples_of(topology::PairTask const& task) {
    if (lost_.contains(task.from) || lost_.contains(task.to)) return {};
    auto const& from = answers_[task.from];
    auto const& to = answers_[task.to];
    bool const failed = !from.error.empty() || !to.error.empty();
    if (failed) {
        auto const key = fmt::format("{} - {}", result_.nodes[static_cast<std::size_t>(task.from)],
                                     result_.nodes[static_cast<std::size_t>(task.to)]);
        errors_[key] = from.error.empty() ? to.error : from.error;
    }
    std::vector<PairSample> samples;
    for (bool const back : {false, true}) {
        auto const& receiver = back ? from : to;
        PairSample sample{.stage = round_->stage,
                          .round = round_->number,
                          .from = back ? task.to : task.from,
                          .to = back ? task.from : task.to,
                          .transport = "tcp",
                          .interface = {},
                          .size_bytes = failed ? 0 : receiver.received_bytes,
                          .seconds = failed ? options_.request.window_s : receiver.seconds,
                          .latency_us = from.latency_us,
                          .network = task.network};
        sample.interface = interface_of(sample.from, task.network);
        samples.push_back(std::move(sample));
    }
    return samples;
}

LeaderActions ProbeLeader::lost(double now_s, int rank, std::string const& why) {
    LeaderActions actions;
    if (done_ || lost_.contains(rank) || !probers_.contains(rank)) return actions;
    give_up(rank, why, actions);
    if (!waited_.erase(rank) || !waited_.empty()) return actions;
    auto more = close_round(now_s);
    std::ranges::move(more, std::back_inserter(actions));
    return actions;
}

void ProbeLeader::give_up(int rank, std::string const& why, LeaderActions& actions) {
    lost_.emplace(rank, why);
    if (schedule_) schedule_->lose(rank);
    actions.push_back(DropProber{rank});
}

LeaderActions ProbeLeader::tick(double now_s) {
    if (started_s_ < 0) {
        started_s_ = now_s;
        deadline_s_ = now_s + options_.join_limit_s;
    }
    if (done_ || now_s < deadline_s_) return {};
    if (!schedule_) return start(now_s);
    LeaderActions actions;
    for (int const rank : std::exchange(waited_, {})) give_up(rank, "no answer", actions);
    auto more = close_round(now_s);
    std::ranges::move(more, std::back_inserter(actions));
    return actions;
}

LeaderActions ProbeLeader::finish() {
    LeaderActions actions;
    if (std::exchange(done_, true)) return actions;
    if (schedule_) {
        result_.pairs = schedule_->samples();
        auto found = topology::analyse_probe(result_.nodes, result_.leaves, result_.pairs);
        result_.scores = std::move(found.scores);
        result_.median_gbit_s = found.median_gbit_s;
        result_.interfaces = std::move(found.interfaces);
        std::ranges::move(found.findings, std::back_inserter(result_.findings));
        for (std::size_t node = 0; node < result_.scores.size(); ++node) {
            result_.scores[node].interface = interface_of(static_cast<int>(node), "");
        }
    }
    find_slow_storage(result_);
    for (auto const& [rank, why] : lost_) {
        if (static_cast<std::size_t>(rank) >= result_.nodes.size()) continue;
        auto const& name = result_.nodes[static_cast<std::size_t>(rank)];
        result_.findings.push_back(
            {.kind = "node_lost", .nodes = {name}, .where = name, .ratio = 0, .evidence = why});
    }
    for (auto const& [pair, error] : errors_) {
        result_.warnings.push_back(fmt::format("{}: {}", pair, error));
    }
    actions.push_back(LeaderDone{result_});
    for (auto const& [rank, prober] : probers_) {
        if (!lost_.contains(rank)) actions.push_back(tell(rank, ProberBye{}));
    }
    return actions;
}

ProberAddress const* ProbeLeader::address_in(int rank, std::string const& network) const {
    auto const& prober = probers_.at(rank);
    auto const at = std::ranges::find_if(prober.hello.addresses, [&](ProberAddress const& each) {
        return network.empty() ? each.address == prober.address : each.network == network;
    });
    return at == prober.hello.addresses.end() ? nullptr : &*at;
}

std::string ProbeLeader::interface_of(int rank, std::string const& network) const {
    if (!probers_.contains(rank)) return "";
    auto const* address = address_in(rank, network);
    return address == nullptr ? "" : address->interface;
}

}  // namespace osora::daemon
