// A worker is the leader of a process group of its own. Its last words are read before its end is
// told; what it left behind is killed: its group at once, orphans when no worker is left (a process
// that was started by a living one may be an orphan too).
#include "daemon/workers.hpp"

#include "base/files.hpp"
#include "base/units.hpp"
#include "daemon/leftovers.hpp"
#include "daemon/node_facts.hpp"
#include "daemon/process_end.hpp"
#include "protocol/message.hpp"
#include "protocol/run_directory.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace osora::daemon {
namespace {

// Numbers in the worker; 0 to 2 are its standard ones.
constexpr int kAgentFd = 3, kStoreFd = 4;

Result<plan::WorkerJob> read_job(std::filesystem::path const& path) {
    OSORA_TRY(auto const text, read_file(path));
    auto job = protocol::decode<plan::WorkerJob>(text);
    if (job.has_error()) return std::move(job).error().in(path.string());
    return job;
}

}  // namespace

Workers::Workers(WorkersOptions options, TaskGroup& tasks, Logger& log, OnInput on_input)
    : options_(std::move(options)), tasks_(tasks), log_(log), on_input_(std::move(on_input)) {}

void Workers::start(protocol::LaunchWorkers const& launch, std::optional<StorePort> store) {
    oom_kills_ = oom_kills("/").value_or(0);
    auto const job = read_job(protocol::RunPaths{options_.run_dir}.job());
    Descriptor store_socket;
    // A program of the user's own binds the port itself.
    if (store && !options_.exec) store_socket = std::move(store->socket);
    store.reset();
    for (int local_rank = 0; local_rank < launch.local_world_size; ++local_rank) {
        int const rank = launch.first_rank + local_rank;
        WorkerPlace const place{.launch = launch,
                                .local_rank = local_rank,
                                .agent_fd = options_.exec ? -1 : kAgentFd,
                                .store_fd = rank == 0 && store_socket.is_open() ? kStoreFd : -1};
        Result<void> started =
            job.has_error() ? Result<void>(job.error()) : start_one(*job, place, store_socket);
        if (started.has_value()) continue;
        log_.error("worker not started", {{"rank", rank}, {"why", started.error().message}});
        WorkerSpawned failed;
        failed.epoch = launch.epoch;
        failed.rank = rank;
        failed.error = started.error().message;
        on_input_(std::move(failed));
    }
}

Descriptor Workers::open_log(int epoch, int rank) {
    auto const path = protocol::RunPaths{options_.run_dir}.rank_log(epoch, rank);
    std::error_code error;
    std::filesystem::create_directories(path.parent_path(), error);
    Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
    if (file.is_open()) return file;
    // A full disk: the worker's output is lost, the worker is not.
    log_.warning("no log for a rank", {{"path", path.string()}, {"why", std::strerror(errno)}});
    return Descriptor(::open("/dev/null", O_WRONLY | O_CLOEXEC));
}

Result<void> Workers::start_one(plan::WorkerJob const& job, WorkerPlace place,
                                Descriptor const& store) {
    OSORA_TRY(WorkerSetup setup,
              set_up_worker(job, place, options_.worker_program, options_.environment));
    int const epoch = place.launch.epoch;
    int const rank = place.launch.first_rank + place.local_rank;
    Descriptor const log = open_log(epoch, rank);
    std::array<int, 2> ends{-1, -1};
    if (place.agent_fd >= 0 &&
        ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
        return file_error(errno, "socketpair", "worker");
    }
    Descriptor ours(ends[0]);
    Descriptor const theirs(ends[1]);
    SpawnOptions options{.program = setup.program,
                         .arguments = setup.arguments,
                         .environment = setup.environment,
                         .working_directory = setup.working_directory,
                         .descriptors = {{log.get(), STDOUT_FILENO}, {log.get(), STDERR_FILENO}},
                         .death_signal = SIGKILL,
                         .new_session = false};
    if (place.agent_fd >= 0) options.descriptors.emplace_back(theirs.get(), place.agent_fd);
    if (place.store_fd >= 0) options.descriptors.emplace_back(store.get(), place.store_fd);
    OSORA_TRY(Child child, spawn(options));
    log_.info("worker started", {{"epoch", epoch}, {"rank", rank}, {"pid", child.id.pid}});

    auto const worker = std::make_shared<Worker>(Worker{epoch, rank, child.id, nullptr});
    living_[child.id.pid] = worker;
    WorkerSpawned spawned;
    spawned.epoch = epoch;
    spawned.rank = rank;
    spawned.pid = child.id.pid;
    on_input_(std::move(spawned));
    if (ours.is_open()) watch_link(worker, ours.release());
    tasks_.spawn(fmt::format("rank {}", rank), watch(worker, std::move(child)));
    return {};
}

void Workers::watch_link(std::shared_ptr<Worker> const& worker, int fd) {
    FrameConnection::Socket socket(tasks_.executor(), asio::generic::stream_protocol(AF_UNIX, 0),
                                   fd);
    worker->link = std::make_shared<FrameConnection>(std::move(socket), tasks_,
                                                     fmt::format("rank {}", worker->rank));
    std::weak_ptr<Worker> const weak = worker;
    worker->link->start({.on_frame =
                             [this, weak](std::string const& frame) {
                                 if (auto const self = weak.lock()) hear(*self, frame);
                             },
                         .on_closed =
                             [this, weak](Error const& why) {
                                 if (auto const self = weak.lock()) link_broke(*self, why);
                             }});
}

void Workers::hear(Worker const& worker, std::string const& frame) {
    auto message = protocol::decode_message<protocol::FromWorker>(frame);
    if (message.has_error()) {
        link_broke(worker, message.error());
        return worker.link->abandon();
    }
    on_input_(WorkerSaid{worker.epoch, worker.rank, std::move(*message)});
}

/// The link of a worker that ends is closed as well; but one that sends what is no message cannot
/// be followed any more.
void Workers::link_broke(Worker const& worker, Error const& why) {
    if (why.code == Errc::unreachable) return;
    log_.error("link to a worker broke", {{"rank", worker.rank}, {"why", why.message}});
    protocol::WorkerFailed failed;
    failed.message = "its messages to the agent do not read: " + why.message;
    on_input_(WorkerSaid{worker.epoch, worker.rank, std::move(failed)});
    signal_process(worker.id, SIGKILL);
}

void Workers::tell(protocol::StopWorker const& message) {
    std::string const frame = protocol::encode_message(protocol::ToWorker(message));
    for (auto const& [pid, worker] : living_) {
        if (worker->link) worker->link->send(frame);
    }
}

void Workers::signal(int signal) {
    // Living here means not reaped: the number still is this group's.
    for (auto const& [pid, worker] : living_) ::kill(-pid, signal);
}

asio::awaitable<void> Workers::watch(std::shared_ptr<Worker> worker, Child child) {
    std::function<void()> const last_words = [worker] {
        if (worker->link) worker->link->drain();
        if (worker->link) worker->link->abandon();
    };
    int const pid = child.id.pid;
    ExitStatus const status = co_await wait_and_reap(std::move(child), last_words);
    living_.erase(pid);
    log_.info("worker ended", {{"epoch", worker->epoch},
                               {"rank", worker->rank},
                               {"how", describe(status)},
                               {"peak_rss", format_bytes(status.peak_rss_bytes)}});
    if (living_.empty()) {
        LeftoverScope const scope{options_.run_uuid, options_.node, {}};
        int const left = co_await end_leftovers(scope, options_.leftover_limit_s);
        if (left > 0) log_.error("processes cannot be killed", {{"count", left}});
    }
    long const kills = oom_kills("/").value_or(0);
    bool const oom_killed = status.signal == SIGKILL && kills > oom_kills_;
    if (oom_killed) oom_kills_ = kills;
    WorkerExited const exited{worker->epoch, worker->rank, status.exit_code, status.signal,
                              oom_killed};
    on_input_(exited);
}

}  // namespace osora::daemon
