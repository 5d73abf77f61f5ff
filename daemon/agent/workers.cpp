// Each worker leads its own process group. Its last messages are read before its end is reported.
// What it leaves running is killed: its group at once, other orphans when no worker is left (a
// process that a living worker started may look like an orphan too).
#include "daemon/agent/workers.hpp"

#include "base/files/files.hpp"
#include "base/files/regular_file.hpp"
#include "base/text/units.hpp"
#include "daemon/agent/last_line.hpp"
#include "daemon/agent/stacks.hpp"
#include "daemon/node/node_facts.hpp"
#include "daemon/process/orphans.hpp"
#include "daemon/process/process_end.hpp"
#include "protocol/messages/message.hpp"
#include "protocol/run_directory.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace osora::daemon {
namespace {

// Descriptor numbers in the worker; 0 to 2 are its standard streams.
constexpr int kAgentFd = 3, kStoreFd = 4, kStepFd = 5;
constexpr int kStepPipeBytes = 1 << 20;     // so that a busy agent does not block a program
constexpr off_t kTailBytes = 64 << 10;      // of a log, searched for the reason of a failure
constexpr std::size_t kTailKept = 2 << 10;  // of that, kept in the journal

Result<plan::WorkerJob> read_job(std::filesystem::path const& path) {
    OSORA_TRY(auto const text, read_file(path));
    auto job = protocol::decode<plan::WorkerJob>(text);
    if (job.has_error()) return std::move(job).error().in(path.string());
    return job;
}

/// A redactor that knows the secrets that the workers are given.
Redactor redactor_for(Result<plan::WorkerJob> const& job, Environment const& environment) {
    Redactor redactor;
    redactor.add(environment);
    if (job.has_error()) return redactor;
    for (auto const& [name, value] : job->config.worker.env) {
        if (is_secret(name, value)) redactor.add(value);
    }
    return redactor;
}

/// Text from a worker goes to the journal.
void redact(protocol::FromWorker& message, Redactor const& redactor) {
    if (auto* failed = std::get_if<protocol::WorkerFailed>(&message)) {
        failed->message = redactor.redact(failed->message);
    } else if (auto* notice = std::get_if<protocol::WorkerNotice>(&message)) {
        notice->detail = redactor.redact(notice->detail);
    } else if (auto* hello = std::get_if<protocol::WorkerHello>(&message)) {
        for (auto& [name, value] : hello->facts) {
            value = is_secret_name(name) ? std::string(kRedacted) : redactor.redact(value);
        }
    }
}

/// The last bytes of a file; "" when it cannot be read.
std::string tail_of(std::filesystem::path const& path, off_t bytes) {
    auto const file = open_regular(path);
    if (file.has_error()) return "";
    off_t const end = ::lseek(file->get(), 0, SEEK_END);
    std::string text(static_cast<std::size_t>(std::min(std::max<off_t>(end, 0), bytes)), '\0');
    ssize_t const got =
        ::pread(file->get(), text.data(), text.size(), end - static_cast<off_t>(text.size()));
    text.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    return text;
}

}  // namespace

Workers::Workers(WorkersOptions options, TaskGroup& tasks, Logger& log, OnInput on_input)
    : options_(std::move(options)),
      tasks_(tasks),
      log_(log),
      on_input_(std::move(on_input)),
      steps_(tasks, log, [this](AgentInput input) { on_input_(std::move(input)); }) {}

void Workers::start(protocol::LaunchWorkers const& launch, std::optional<StorePort> store) {
    oom_kills_ = oom_kills("/").value_or(0);
    std::error_code ignored;
    if (std::filesystem::exists("/dev/nvidiactl", ignored)) {  // for c10d's flight recorder
        std::filesystem::create_directories(stacks_folder(options_.run_dir, launch.attempt),
                                            ignored);
    }
    auto const job = read_job(protocol::RunPaths{options_.run_dir}.job());
    redactor_ = redactor_for(job, options_.environment);
    if (options_.exec && job.has_value()) {
        auto const finder = step_finder(job->config.worker.step_pattern);
        if (finder.has_error())
            log_.error("cannot read steps from the output", {{"why", finder.error().message}});
        if (finder.has_value()) step_pattern_ = job->config.worker.step_pattern;
    }
    if (job.has_value()) log_bytes_ = job->config.faults.log_mib * kMiB;
    if (log_bytes_ > 0 && !std::exchange(limits_logs_, true)) {
        tasks_.spawn("size of logs", report_unlimited_logs());
    }
    Descriptor store_socket;
    // A user program binds the port itself.
    if (store && !options_.exec) store_socket = std::move(store->socket);
    store.reset();
    std::vector<std::vector<int>> cpus;
    if (job.has_value()) cpus = bind(*job, launch);
    cpus.resize(static_cast<std::size_t>(launch.local_world_size));
    for (int local_rank = 0; local_rank < launch.local_world_size; ++local_rank) {
        int const rank = launch.first_rank + local_rank;
        WorkerPlace const place{.launch = launch,
                                .local_rank = local_rank,
                                .agent_fd = options_.exec ? -1 : kAgentFd,
                                .store_fd = rank == 0 && store_socket.is_open() ? kStoreFd : -1,
                                .step_fd = options_.exec ? kStepFd : -1,
                                .cpus = cpus[static_cast<std::size_t>(local_rank)],
                                .host = options_.host};
        Result<void> started =
            job.has_error() ? Result<void>(job.error()) : start_one(*job, place, store_socket);
        if (started.has_value()) continue;
        log_.error("cannot start worker", {{"rank", rank}, {"why", started.error().message}});
        WorkerSpawned failed;
        failed.attempt = launch.attempt;
        failed.rank = rank;
        failed.error = started.error().message;
        on_input_(std::move(failed));
    }
}

/// The CPUs of each rank; empty when they are not bound.
std::vector<std::vector<int>> Workers::bind(plan::WorkerJob const& job,
                                            protocol::LaunchWorkers const& launch) {
    if (job.config.resources.bind_cpus == "never") return {};
    if (!cores_) cores_ = read_node_cores("/");
    auto binding = bind_workers(*cores_, job, options_.environment, launch.local_world_size);
    if (!binding.reason.empty()) {
        log_.info("ranks are not bound to cores", {{"why", binding.reason}});
        on_input_(RanksNotBound{launch.attempt, binding.reason});
    }
    return std::move(binding.cpus);
}

Descriptor Workers::open_log(int attempt, int rank) {
    auto const path = protocol::RunPaths{options_.run_dir}.rank_log(attempt, rank);
    std::error_code error;
    std::filesystem::create_directories(path.parent_path(), error);
    auto file = open_private(path, O_WRONLY | O_APPEND);
    if (file.has_value()) return std::move(*file);
    // A full disk: the worker's output is lost, the worker is not.
    log_.warning("cannot open the log of a rank", {{"why", file.error().message}});
    return Descriptor(::open("/dev/null", O_WRONLY | O_CLOEXEC));
}

Result<void> Workers::start_one(plan::WorkerJob const& job, WorkerPlace place,
                                Descriptor const& store) {
    OSORA_TRY(WorkerSetup setup,
              set_up_worker(job, place, options_.worker_program, options_.environment));
    int const attempt = place.launch.attempt;
    int const rank = place.launch.first_rank + place.local_rank;
    Descriptor const log = open_log(attempt, rank);
    std::array<int, 2> ends{-1, -1};
    if (place.agent_fd >= 0 &&
        ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
        return file_error(errno, "socketpair", "worker");
    }
    Descriptor ours(ends[0]);
    Descriptor const theirs(ends[1]);
    std::array<int, 2> pipe{-1, -1};
    if (place.step_fd >= 0 && ::pipe2(pipe.data(), O_CLOEXEC) != 0) {
        return file_error(errno, "pipe", "worker");
    }
    Descriptor records(pipe[0]);
    Descriptor const steps(pipe[1]);
    SpawnOptions options{.program = setup.program,
                         .arguments = setup.arguments,
                         .environment = setup.environment,
                         .working_directory = setup.working_directory,
                         .descriptors = {{log.get(), STDOUT_FILENO}, {log.get(), STDERR_FILENO}},
                         .death_signal = SIGKILL,
                         .new_session = false,
                         .cpus = place.cpus};
    if (place.agent_fd >= 0) options.descriptors.emplace_back(theirs.get(), place.agent_fd);
    if (place.store_fd >= 0) options.descriptors.emplace_back(store.get(), place.store_fd);
    if (place.step_fd >= 0) options.descriptors.emplace_back(steps.get(), place.step_fd);
    OSORA_TRY(Child child, spawn(options));
    log_.info("worker started", {{"attempt", attempt}, {"rank", rank}, {"pid", child.id.pid}});

    auto const worker = std::make_shared<Worker>(Worker{attempt, rank, child.id, nullptr});
    if (log_bytes_ > 0) {
        auto const log = protocol::RunPaths{options_.run_dir}.rank_log(attempt, rank);
        log_caps_.add(child.id.pid, rank, LogCap(log, log_bytes_));
    }
    living_[child.id.pid] = worker;
    WorkerSpawned spawned;
    spawned.attempt = attempt;
    spawned.rank = rank;
    spawned.pid = child.id.pid;
    // As the kernel applied it: it may have refused.
    if (!place.cpus.empty()) spawned.cpus = cpus_of_process(child.id.pid);
    on_input_(std::move(spawned));
    if (ours.is_open()) watch_link(worker, ours.release());
    if (records.is_open()) {
        ::fcntl(steps.get(), F_SETPIPE_SZ, kStepPipeBytes);
        steps_.add({.attempt = attempt,
                    .rank = rank,
                    .pid = child.id.pid,
                    .records = std::move(records),
                    .output = protocol::RunPaths{options_.run_dir}.rank_log(attempt, rank)},
                   step_finder(step_pattern_).value());
    }
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
    redact(*message, redactor_);
    on_input_(WorkerSaid{worker.attempt, worker.rank, std::move(*message)});
}

/// The link of a worker that ends is closed as well; but a worker that sends invalid messages
/// cannot be followed any more.
void Workers::link_broke(Worker const& worker, Error const& why) {
    if (why.code == Errc::unreachable) return;
    log_.error("lost the link to a worker", {{"rank", worker.rank}, {"why", why.message}});
    protocol::WorkerFailed failed;
    failed.message = "cannot decode its messages to the agent: " + why.message;
    on_input_(WorkerSaid{worker.attempt, worker.rank, std::move(failed)});
    signal_process(worker.id, SIGKILL);
}

void Workers::tell(protocol::StopWorker const& message) {
    std::string const frame = protocol::encode_message(protocol::ToWorker(message));
    for (auto const& [pid, worker] : living_) {
        if (worker->link) worker->link->send(frame);
    }
}

void Workers::signal(int signal) {
    // "Living" here means not reaped: the number still belongs to this group.
    for (auto const& [pid, worker] : living_) ::kill(-pid, signal);
}

asio::awaitable<void> Workers::watch(std::shared_ptr<Worker> worker, Child child) {
    int const pid = child.id.pid;
    std::function<void()> const read_last_messages = [worker] {
        if (worker->link) worker->link->drain();
        if (worker->link) worker->link->abandon();
    };
    ExitStatus const status = co_await wait_and_reap(std::move(child), read_last_messages);
    living_.erase(pid);
    co_await steps_.finish(pid);
    log_caps_.finish(pid);
    log_.info("worker ended", {{"attempt", worker->attempt},
                               {"rank", worker->rank},
                               {"how", describe(status)},
                               {"peak_rss", format_bytes(status.peak_rss_bytes)}});
    if (living_.empty()) {
        OrphanScope const scope{options_.run_uuid, options_.node, {}};
        int const left = co_await end_orphans(scope, options_.orphan_limit_s);
        if (left > 0) log_.error("cannot kill processes", {{"count", left}});
    }
    WorkerExited exited{worker->attempt, worker->rank, status.exit_code, status.signal, false};
    if (status.signal != 0 || status.exit_code != 0) exited.tail = tail(*worker);
    // A process that was killed from outside could not report a failure itself.
    bool const killed = status.signal == SIGKILL || status.signal == SIGTERM ||
                        status.signal == SIGINT || status.signal == SIGHUP;
    if (!killed) exited.last_line = last_line_of(exited.tail);
    long const kills = oom_kills("/").value_or(0);
    bool const by_kill = ended_by_kill(status.exit_code, status.signal, exited.last_line);
    exited.oom_killed = by_kill && kills > oom_kills_;
    if (exited.oom_killed) oom_kills_ = kills;
    exited.tail = last_part(exited.tail, kTailKept);
    on_input_(std::move(exited));
}

/// When a log cannot be limited, its rank runs on anyway.
asio::awaitable<void> Workers::report_unlimited_logs() {
    constexpr auto kEvery = std::chrono::seconds(1);
    asio::steady_timer pause(tasks_.executor());
    while (true) {
        for (auto const& failure : log_caps_.take_failures()) {
            log_.warning("cannot enforce faults.log_mib",
                         {{"rank", failure.rank}, {"why", failure.error.message}});
        }
        pause.expires_after(kEvery);
        co_await pause.async_wait(kToken);
    }
}

/// The end of its log.
std::string Workers::tail(Worker const& worker) const {
    auto const log = protocol::RunPaths{options_.run_dir}.rank_log(worker.attempt, worker.rank);
    return redactor_.redact(tail_of(log, kTailBytes));
}

void Workers::take_stacks(int attempt, double limit_s) {
    tasks_.spawn("stacks", take_stacks_of(attempt, limit_s));
}

asio::awaitable<void> Workers::take_stacks_of(int attempt, double limit_s) {
    std::vector<StackSubject> subjects;
    for (auto const& [pid, worker] : living_) {
        if (worker->attempt == attempt) subjects.push_back({worker->rank, worker->id});
    }
    auto const folder = stacks_folder(options_.run_dir, attempt);
    auto states = co_await daemon::take_stacks(std::move(subjects), folder, limit_s);
    log_.warning("wrote the stacks of a hang", {{"folder", folder.string()}});
    on_input_(StacksReady{attempt, std::move(states)});
}

}  // namespace osora::daemon
