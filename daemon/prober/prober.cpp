#include "daemon/prober/prober.hpp"

#include "base/env.hpp"
#include "base/files/files.hpp"
#include "base/host_name.hpp"
#include "base/process/parent_signal.hpp"
#include "base/text/printable.hpp"
#include "base/version.hpp"
#include "daemon/prober/leader_loop.hpp"
#include "plan/worker_job.hpp"
#include "protocol/exit_codes.hpp"
#include "protocol/json_file.hpp"
#include "protocol/messages/agent_link.hpp"
#include "protocol/run_directory.hpp"
#include "topology/live/socket_address.hpp"
#include "topology/live/storage_read.hpp"
#include "topology/live/tcp_transfer.hpp"
#include "topology/probe/leaf_address.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <mutex>
#include <span>
#include <thread>

namespace osora::daemon {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kSilence_s = 300;  // longest silence of a prober towards its agent
constexpr auto kMeetLimit = std::chrono::seconds(20);

struct Place {
    int rank = 0, world_size = 1;
    std::string leader;
    int leader_port = 0, leader_fd = -1;
};

int integer_or(Environment const& environment, std::string_view name, int otherwise) {
    std::string const text = variable_or(environment, name, "");
    int value = otherwise;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

class Prober {
public:
    Prober(std::filesystem::path run_dir, Place place, protocol::AgentLink& agent)
        : paths_{std::move(run_dir)}, place_(std::move(place)), agent_(agent) {}

    Result<void> run(Environment const& environment) {
        OSORA_TRY(auto const job, protocol::read_json_file<plan::WorkerJob>(paths_.job()));
        OSORA_TRY(request_,
                  protocol::read_json_file<topology::ProbeRequest>(paths_.probe_request()));
        uuid_ = job.run_uuid;
        OSORA_TRY_VOID(announce());
        OSORA_TRY(auto listener, topology::StreamListener::open());
        std::thread leading;
        if (place_.rank == 0) leading = std::thread([this] { lead_others(); });
        auto const done = follow_leader(listener, environment);
        // When its own prober has failed, the leader still has the others.
        if (leading.joinable()) leading.join();
        OSORA_TRY_VOID(done);
        if (!failure_.empty()) return Error{Errc::io, failure_};
        return tell(protocol::WorkerFinished{.steps = 0, .stopped = stop_});
    }

private:
    Result<void> tell(protocol::FromWorker const& message) {
        std::lock_guard const lock(telling_);
        return agent_.send(message);
    }

    Result<void> announce() {
        protocol::WorkerHello hello;
        hello.rank = place_.rank;
        hello.pid = ::getpid();
        hello.facts = {{"worker", "prober"}, {"version", kVersion}};
        OSORA_TRY_VOID(tell(hello));
        return tell(
            protocol::PhaseChanged{.phase = protocol::Phase::loading, .limit_s = kSilence_s});
    }

    // On the leader's thread.
    void lead_others() {
        lead({.listener = Descriptor(place_.leader_fd),
              .options = {.request = request_, .world_size = place_.world_size},
              .on_part = [this](auto const& part) { send_part(part); },
              .on_result = [this](auto const& result) { keep(result); },
              .stop = stop_});
    }
    void send_part(topology::ProbeResult const& part) {
        (void)tell(protocol::ProbeMeasured{protocol::to_json(part)});
    }
    void keep(topology::ProbeResult result) {
        result.wall_us = RealEnv().wall_us();
        result.source = uuid_;
        auto const text = protocol::encode(result) + "\n";
        auto const written = write_file_atomic(paths_.probe(), text, 0600);
        if (written.has_error()) failure_ = written.error().message;
        result.pairs.clear();  // already sent round by round
        send_part(result);
    }

    Result<Descriptor> meet_leader() {
        OSORA_TRY(auto const address, topology::parse_address(place_.leader, place_.leader_port));
        auto const until = Clock::now() + kMeetLimit;
        while (true) {
            Descriptor socket(::socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
            if (::connect(socket.get(), address.get(), address.size()) == 0) return socket;
            int const error = errno;
            if (Clock::now() >= until) {
                return file_error(error, "connect to the leader",
                                  fmt::format("{}:{}", place_.leader, place_.leader_port));
            }
            OSORA_TRY_VOID(agent_.pass_time(std::chrono::milliseconds(100)));
        }
    }

    ProberHello hello(topology::StreamListener const& listener, Environment const& environment) {
        ProberHello hello{.token = request_.token,
                          .rank = place_.rank,
                          .host = node_name(environment),
                          .leaf = topology::leaf_of_address(
                              variable_or(environment, "SLURM_TOPOLOGY_ADDR", ""),
                              variable_or(environment, "SLURM_TOPOLOGY_ADDR_PATTERN", "")),
                          .port = listener.port(),
                          .addresses = {},
                          .memory_copy_bytes_per_s = topology::memory_copy_bytes_per_s()};
        for (auto const& each : topology::network_addresses()) {
            hello.addresses.push_back({each.interface, each.address, each.network});
        }
        return hello;
    }

    Result<void> say(Descriptor const& leader, FromProber const& message) {
        OSORA_TRY(auto const frame, protocol::encode_frame(protocol::encode_message(message)));
        std::string_view rest = frame;
        while (!rest.empty()) {
            ssize_t const sent = ::send(leader.get(), rest.data(), rest.size(), MSG_NOSIGNAL);
            if (sent < 0 && errno == EINTR) continue;
            if (sent < 0) return file_error(errno, "send", "leader");
            rest.remove_prefix(static_cast<std::size_t>(sent));
        }
        return {};
    }

    Result<void> follow_leader(topology::StreamListener& listener, Environment const& environment) {
        OSORA_TRY(auto const leader, meet_leader());
        OSORA_TRY_VOID(say(leader, hello(listener, environment)));
        OSORA_TRY_VOID(tell(
            protocol::PhaseChanged{.phase = protocol::Phase::evaluation, .limit_s = kSilence_s}));
        protocol::FrameReader frames;
        while (true) {
            std::array<pollfd, 2> waited{
                {{leader.get(), POLLIN, 0}, {stop_ ? -1 : agent_.descriptor(), POLLIN, 0}}};
            if (::poll(waited.data(), waited.size(), -1) < 0 && errno != EINTR) {
                return file_error(errno, "poll", "leader");
            }
            if (waited[1].revents != 0) {
                OSORA_TRY_VOID(agent_.pass_time(std::chrono::seconds(0)));
                stop_ = agent_.stop_request().has_value();
            }
            if (waited[0].revents == 0) continue;
            std::array<std::byte, 4096> buffer{};
            ssize_t const got = ::recv(leader.get(), buffer.data(), buffer.size(), 0);
            if (got < 0 && errno == EINTR) continue;
            if (got <= 0) return Error{Errc::unreachable, "the leader of the probe is gone"};
            OSORA_TRY(auto const orders,
                      frames.feed(std::span(buffer).first(static_cast<std::size_t>(got))));
            for (auto const& order : orders) {
                OSORA_TRY(auto const message, protocol::decode_message<ToProber>(order));
                if (std::holds_alternative<ProberBye>(message)) return {};
                OSORA_TRY_VOID(say(leader, carry_out(message, listener)));
            }
        }
    }

    FromProber carry_out(ToProber const& order, topology::StreamListener& listener) {
        if (auto const* read = std::get_if<ReadStorage>(&order)) return read_files(*read);
        auto const& run = std::get<RunTransfer>(order);
        TransferDone done{.round = run.round};
        auto const result = transfer(run, listener);
        if (result.has_error()) {
            done.error = result.error().message;
            return done;
        }
        done.received_bytes = result->received_bytes;
        done.seconds = result->seconds;
        done.latency_us = result->latency_us;
        return done;
    }

    Result<topology::TransferResult> transfer(RunTransfer const& run,
                                              topology::StreamListener& listener) {
        topology::TransferOptions const options{
            .streams = request_.streams, .warm_s = request_.warm_s, .window_s = request_.window_s};
        OSORA_TRY(auto streams,
                  run.connects ? topology::connect_streams(run.address, run.port, run.bind_address,
                                                           run.stream_token, options)
                               : listener.accept(run.stream_token, options));
        return topology::run_transfer(std::move(streams), run.connects, options);
    }

    FromProber read_files(ReadStorage const& order) {
        StorageDone done{.round = order.round, .sample = {}, .error = {}};
        auto const files = topology::files_to_read(request_.storage_paths);
        if (files.has_error()) {
            done.error = files.error().message;
            return done;
        }
        // Nodes begin at different files, so that none reads what another node has just fetched.
        auto const first = static_cast<std::size_t>(place_.rank) * files->size() /
                           static_cast<std::size_t>(std::max(1, place_.world_size));
        auto const read = topology::read_storage(*files, first, {.limit_s = request_.storage_s});
        if (read.has_error()) {
            done.error = read.error().message;
            return done;
        }
        done.sample.path = read->path;
        done.sample.alone = order.alone;
        done.sample.read_bytes_per_s = static_cast<double>(read->bytes) / read->seconds;
        done.sample.open_us = read->open_us;
        done.sample.files = read->files;
        return done;
    }

    protocol::RunPaths paths_;
    Place place_;
    protocol::AgentLink& agent_;
    std::mutex telling_;  // guards the link to the agent, for prober and leader
    topology::ProbeRequest request_;
    std::string uuid_, failure_;
    std::atomic<bool> stop_ = false;
};

}  // namespace

int run_prober(std::filesystem::path const& run_dir, Environment const& environment) {
    protocol::AgentLink agent(integer_or(environment, "OSORA_AGENT_FD", -1));
    if (agent.descriptor() >= 0) only_parent_terminates();
    Place place{.rank = integer_or(environment, "RANK", 0),
                .world_size = integer_or(environment, "WORLD_SIZE", 1),
                .leader = variable_or(environment, "MASTER_ADDR", "127.0.0.1"),
                .leader_port = integer_or(environment, "MASTER_PORT", 0),
                .leader_fd = integer_or(environment, "OSORA_STORE_FD", -1)};
    Prober prober(run_dir, place, agent);
    auto const done = prober.run(environment);
    if (done.has_value()) return 0;
    bool const input =
        done.error().code == Errc::invalid_input || done.error().code == Errc::not_found;
    int const code = input ? protocol::kExitConfiguration : protocol::kExitComm;
    fmt::print(stderr, "osorad prober: {}\n", printable(done.error().message, "\n\t"));
    (void)agent.send(protocol::WorkerFailed{.exit_code = code, .message = done.error().message});
    return code;
}

}  // namespace osora::daemon
