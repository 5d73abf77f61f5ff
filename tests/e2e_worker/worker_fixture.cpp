#include "tests/e2e_worker/worker_fixture.hpp"

#include "base/files/files.hpp"
#include "protocol/json.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <map>

namespace osora::tests {
namespace {

namespace fs = std::filesystem;

struct Child {
    int pid = -1;
    int out_fd = -1;
    std::string pending;
    WorkerRun run;
};

/// Starts `arguments` with `extra` in its environment; stdout goes to a pipe.
Child spawn(std::vector<std::string> const& arguments, std::vector<std::string> extra,
            int keep_fd) {
    std::array<int, 2> fds{};
    EXPECT_EQ(pipe2(fds.data(), O_CLOEXEC), 0);
    std::vector<std::string> variables = std::move(extra);
    for (char** each = environ; *each != nullptr; ++each) variables.emplace_back(*each);
    std::vector<char*> argv, envp;
    for (auto const& each : arguments) argv.push_back(const_cast<char*>(each.c_str()));
    for (auto const& each : variables) envp.push_back(const_cast<char*>(each.c_str()));
    argv.push_back(nullptr);
    envp.push_back(nullptr);
    pid_t const pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(fds[1], STDOUT_FILENO);
        if (keep_fd >= 0) fcntl(keep_fd, F_SETFD, 0);
        execve(argv[0], argv.data(), envp.data());
        _exit(127);
    }
    close(fds[1]);
    return {pid, fds[0], "", {}};
}

/// A listening socket on a free loopback port.
std::pair<int, int> listen_anywhere() {
    int const fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(listen(fd, 64), 0);
    getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
    return {fd, ntohs(address.sin_port)};
}

/// Reads the available bytes; false at the end of the stream.
bool read_lines(Child& child) {
    std::array<char, 65536> buffer{};
    ssize_t const got = read(child.out_fd, buffer.data(), buffer.size());
    if (got <= 0) return false;
    child.pending.append(buffer.data(), static_cast<std::size_t>(got));
    for (std::size_t end = 0; (end = child.pending.find('\n')) != std::string::npos;) {
        auto value = protocol::parse_json(std::string_view(child.pending).substr(0, end));
        if (value.has_value() && value->is_object()) {
            child.run.messages.push_back(value->as_object());
        }
        child.pending.erase(0, end + 1);
    }
    return true;
}

void collect(std::vector<Child>& children, int const& stopped_rank,
             std::function<bool(boost::json::object const&)> const& stop_when) {
    std::size_t open = children.size();
    std::size_t seen = 0;
    while (open > 0) {
        std::vector<pollfd> waiting;
        for (Child const& child : children) waiting.push_back({child.out_fd, POLLIN, 0});
        poll(waiting.data(), waiting.size(), 60'000);
        for (std::size_t i = 0; i < children.size(); ++i) {
            if (waiting[i].revents == 0 || children[i].out_fd < 0) continue;
            if (read_lines(children[i])) continue;
            close(children[i].out_fd);
            children[i].out_fd = -1;
            children[i].run.ended = std::chrono::steady_clock::now();
            --open;
        }
        if (open == 1 && stopped_rank >= 0)
            kill(children[static_cast<std::size_t>(stopped_rank)].pid, SIGKILL);
        auto const& messages = children[0].run.messages;
        for (; stop_when && seen < messages.size(); ++seen) {
            if (!stop_when(messages[seen])) continue;
            for (Child const& child : children) kill(child.pid, SIGKILL);
        }
    }
}

}  // namespace

std::vector<boost::json::object> WorkerRun::of(std::string_view type) const {
    std::vector<boost::json::object> found;
    for (auto const& message : messages) {
        if (message.at("type").as_string() == type) found.push_back(message);
    }
    return found;
}

std::vector<double> WorkerRun::steps(std::string_view key) const {
    std::vector<double> values;
    for (auto const& message : of("step")) values.push_back(message.at(key).to_number<double>());
    return values;
}

void WorkerTest::SetUp() {
    std::string pattern = (fs::temp_directory_path() / "osora worker-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
    fs::create_directories(folder_ / "run dir");
}

void WorkerTest::TearDown() {
    fs::remove_all(folder_);
}

void WorkerTest::make_clip(std::string const& name, std::string const& size, int seed) {
    static std::map<std::string, std::string> made;  // content, by source
    std::string const source =
        fmt::format("testsrc2=size={}:rate=12:duration=2,hue=h={}:s=1", size, seed * 37);
    if (auto const known = made.find(source); known != made.end()) {
        std::ofstream(folder_ / name, std::ios::binary) << known->second;
        return;
    }
    std::vector<std::string> const command{
        "/usr/bin/ffmpeg", "-nostdin", "-v",   "error",     "-y",      "-f",
        "lavfi",           "-i",       source, "-frames:v", "12",      "-c:v",
        "libx264",         "-g",       "6",    "-pix_fmt",  "yuv420p", (folder_ / name).string()};
    Child child = spawn(command, {}, -1);
    int status = 0;
    waitpid(child.pid, &status, 0);
    close(child.out_fd);
    ASSERT_EQ(status, 0) << name;
    auto const content = read_file(folder_ / name, 1 << 24);
    ASSERT_TRUE(content.has_value()) << content.error().message;
    made[source] = *content;
}

void WorkerTest::make_clips(int count, std::function<std::string(int)> const& size_of) {
    std::vector<std::string> names;
    for (int i = 0; i < count; ++i) {
        names.push_back(fmt::format("clip {}.mp4", i));
        make_clip(names.back(), size_of(i), i);
    }
    write_manifest(names);
}

void WorkerTest::write_manifest(std::vector<std::string> const& paths) {
    std::ofstream file(folder_ / "clips.csv");
    file << "path,text\n";
    for (auto const& path : paths) file << '"' << path << "\",\n";
}

plan::WorkerJob WorkerTest::job(int ranks, int steps) const {
    plan::WorkerJob job;
    job.run_uuid = "00000000-0000-4000-8000-000000000000";
    job.run_name = "test-0001";
    job.run_dir = (folder_ / "run dir").string();
    job.base_dir = folder_.string();
    auto& config = job.config;
    config.model.arch = "stdit3-tiny";
    config.model.hidden = 48;
    config.data.manifest = "clips.csv";
    config.data.host_memory_gib = 1;
    config.optim.precision = "fp32";
    config.optim.lr = 1e-3;
    config.optim.warmup_steps = 4;
    config.train.steps = steps;
    config.checkpoint.every = 0;
    config.bucket = {
        {.resolution = "32", .num_frames = 8, .keep_prob = 0.6, .micro_batch_size = {}},
        {.resolution = "48", .num_frames = 4, .keep_prob = 0.5, .micro_batch_size = {}},
        {.resolution = "32", .num_frames = 1, .keep_prob = 1, .micro_batch_size = {}}};
    auto& layout = job.plan.chosen;
    layout.dp_size = ranks;
    layout.threads_per_rank = 1;
    layout.grad_bucket_mib = 1;
    for (auto const& bucket : config.bucket) {
        plan::BucketPlan plan;
        plan.resolution = bucket.resolution;
        plan.num_frames = bucket.num_frames;
        plan.global_batch_size = bucket.num_frames == 1 ? 16 : 4;
        plan.micro_batch_size = plan.global_batch_size / ranks;
        layout.buckets.push_back(plan);
    }
    return job;
}

std::vector<WorkerRun> WorkerTest::run(plan::WorkerJob const& job, int ranks,
                                       std::function<bool(boost::json::object const&)> stop_when) {
    fs::path const file = folder_ / "run dir" / "job.json";
    EXPECT_TRUE(write_file_atomic(file, protocol::encode(job)).has_value());
    auto const [listen_fd, port] = listen_anywhere();
    std::vector<Child> children;
    for (int rank = 0; rank < ranks; ++rank) {
        std::vector<std::string> variables{fmt::format("RANK={}", rank),
                                           fmt::format("LOCAL_RANK={}", rank),
                                           fmt::format("WORLD_SIZE={}", ranks),
                                           fmt::format("LOCAL_WORLD_SIZE={}", ranks),
                                           "MASTER_ADDR=127.0.0.1",
                                           fmt::format("MASTER_PORT={}", port)};
        if (rank == 0) variables.push_back(fmt::format("OSORA_STORE_FD={}", listen_fd));
        fs::path own = file;
        if (job_of_rank_) {
            own = folder_ / "run dir" / fmt::format("job-{}.json", rank);
            EXPECT_TRUE(write_file_atomic(own, protocol::encode(job_of_rank_(rank))).has_value());
        }
        children.push_back(spawn({OSORA_BIN_DIR "/osora-worker", "--job", own.string()}, variables,
                                 rank == 0 ? listen_fd : -1));
    }
    close(listen_fd);
    pids_.clear();
    for (Child const& child : children) pids_.push_back(child.pid);
    collect(children, stopped_rank_, stop_when);
    std::vector<WorkerRun> runs;
    for (Child& child : children) {
        int status = 0;
        waitpid(child.pid, &status, 0);
        child.run.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
        runs.push_back(std::move(child.run));
    }
    return runs;
}

}  // namespace osora::tests
