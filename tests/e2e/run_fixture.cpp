#include "tests/e2e/run_fixture.hpp"

#include "base/files/files.hpp"
#include "base/process/descendants.hpp"
#include "plan/worker_job.hpp"
#include "protocol/messages/message.hpp"
#include "tests/e2e/peer.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>

namespace osora::e2e {
namespace {

plan::RunConfig config_of(RunSpec const& spec) {
    plan::RunConfig config;
    config.run.name = "e2e";
    config.run.job = spec.job;
    config.resources.gpus_per_node = spec.ranks;
    config.resources.bind_cpus = spec.bind_cpus;
    config.train.steps = spec.steps;
    config.checkpoint.every = spec.checkpoint_every;
    config.faults.max_restarts = spec.max_restarts;
    if (spec.step_timeout_s > 0) config.faults.step_timeout = spec.step_timeout_s;
    config.faults.lost_after = spec.lost_after_s;
    config.faults.stacks_limit = kPatience_s;
    if (spec.lease_s > 0) config.faults.lease = spec.lease_s;
    config.faults.log_mib = spec.log_mib;
    config.worker.command = spec.command;
    config.worker.env = spec.env;
    if (spec.hold_at >= 0) config.worker.env["OSORA_MOCK_HOLD"] = std::to_string(spec.hold_at);
    config.worker.step_pattern = spec.step_pattern;
    return config;
}

protocol::RunSubmitted submission_of(RunSpec const& spec, plan::WorkerJob const& job) {
    protocol::RunSubmitted submission;
    submission.run_uuid = job.run_uuid;
    submission.run_name = job.run_name;
    submission.job = spec.job;
    submission.user = "tester";
    submission.host = "localhost";
    submission.base_dir = job.base_dir;
    submission.number = 1;
    submission.nodes = spec.nodes;
    submission.ranks_per_node = spec.ranks;
    submission.restarts_max = spec.max_restarts;
    submission.steps = spec.steps;
    submission.config = protocol::to_json(job.config);
    submission.origins = protocol::json::object();
    return submission;
}

}  // namespace

void Run::SetUp() {
    folder_ = testing::TempDir() + "osora-e2e-XXXXXX";
    ASSERT_NE(::mkdtemp(folder_.data()), nullptr);
    become_subreaper();
    environment_ = current_environment();
    set_variable(environment_, "OSORA_WORKER", OSORA_BIN_DIR "/osora-worker-mock");
    remove_variable(environment_, "XDG_RUNTIME_DIR");
}

void Run::TearDown() {
    if (HasFailure()) {
        fmt::print("--- controller.log\n{}--- agent-0.log\n{}", log(),
                   content_of(paths_.dir / "agent-0.log"));
    }
    controller_.reset();
    auto const nothing_lives = [this] {
        for (ProcessId const& each : processes()) signal_process(each, SIGKILL);
        return kill_descendants({}) == 0 && processes().empty();
    };
    EXPECT_TRUE(eventually(nothing_lives)) << "the test leaves processes running";
    std::filesystem::remove_all(folder_);
}

void Run::make_run(RunSpec const& spec, std::string const& name) {
    run_uuid_ = make_uuid();
    paths_.dir = std::filesystem::path(folder_) / name;
    std::filesystem::create_directories(paths_.dir);
    plan::WorkerJob job;
    job.run_uuid = run_uuid_;
    job.run_name = "e2e-0001";
    job.run_dir = paths_.dir.string();
    job.base_dir = folder_;
    job.config = config_of(spec);
    job.plan.chosen.dp_size = spec.nodes * spec.ranks;
    job.plan.nccl_env.push_back({"NCCL_IB_TC", "106", "run file", "asked for"});
    ASSERT_TRUE(write_file_atomic(paths_.job(), protocol::encode(job)).has_value());
    ASSERT_TRUE(write_file_atomic(paths_.plan(), protocol::encode(job.plan)).has_value());
    auto const submission = protocol::encode(submission_of(spec, job));
    ASSERT_TRUE(write_file_atomic(paths_.submission(), submission).has_value());
}

Result<Child> Run::spawn_osorad(int lifeline_fd, std::string const& stderr_name) {
    auto const path = std::filesystem::path(folder_) / stderr_name;
    Descriptor const errors(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    constexpr int kLifelineFd = 9;
    SpawnOptions options{.program = OSORA_BIN_DIR "/osorad",
                         .arguments = {"--one-run", paths_.dir.string()},
                         .environment = environment_,
                         .working_directory = "/",
                         .descriptors = {{errors.get(), STDERR_FILENO}},
                         .death_signal = SIGKILL,
                         .new_session = false};
    options.arguments.insert(options.arguments.end(), arguments_.begin(), arguments_.end());
    if (lifeline_fd >= 0) {
        options.arguments.insert(options.arguments.end(),
                                 {"--lifeline-fd", std::to_string(kLifelineFd)});
        options.descriptors.emplace_back(lifeline_fd, kLifelineFd);
    }
    return spawn(options);
}

void Run::start(bool attached) {
    std::array<int, 2> pipe{-1, -1};
    if (attached) {
        ASSERT_EQ(::pipe2(pipe.data(), O_CLOEXEC), 0);
    }
    Descriptor const reading(pipe[0]);
    lifeline_.reset(pipe[1]);
    auto child = spawn_osorad(reading.get(), "stderr");
    ASSERT_TRUE(child.has_value()) << child.error().message;
    controller_ = std::move(*child);
}

int Run::wait_for_exit(double limit_s) {
    pollfd waited{.fd = controller_->pidfd.get(), .events = POLLIN, .revents = 0};
    if (::poll(&waited, 1, static_cast<int>(limit_s * 1000)) != 1) {
        ADD_FAILURE() << "osorad still runs after " << limit_s << " s";
        return -1;
    }
    ExitStatus const status = reap(*controller_);
    controller_.reset();
    return status.signal != 0 ? 128 + status.signal : status.exit_code;
}

int Run::run_to_end(RunSpec const& spec) {
    make_run(spec);
    start();
    return wait_for_exit();
}

void Run::kill_controller() {
    signal_controller(SIGKILL);
    EXPECT_EQ(wait_for_exit(), 128 + SIGKILL);
}

void Run::await_steps(int steps) const {
    auto const enough = [&] { return run().steps_done() >= steps; };
    EXPECT_TRUE(eventually(enough)) << "fewer than " << steps << " steps";
}

protocol::ControlReply Run::command(protocol::ToController const& message) const {
    std::string path = paths_.control_socket().string();
    if (std::string const moved = content_of(paths_.control_path()); !moved.empty()) {
        path = moved.substr(0, moved.size() - 1);
    }
    Peer peer = Peer::connect_unix(path);
    peer.send_frame(protocol::encode_message(message));
    auto const answer = peer.receive_frame();
    EXPECT_TRUE(answer.has_value()) << "no answer on " << path;
    auto const reply = protocol::decode_message<protocol::FromController>(answer.value_or("{}"));
    EXPECT_TRUE(reply.has_value());
    return reply.has_value() ? std::get<protocol::ControlReply>(*reply) : protocol::ControlReply{};
}

protocol::ControllerFile Run::controller_file() const {
    auto const file =
        protocol::decode<protocol::ControllerFile>(content_of(paths_.controller_file()));
    EXPECT_TRUE(file.has_value()) << file.error().message;
    return file.has_value() ? *file : protocol::ControllerFile{};
}

std::string Run::log() const {
    return content_of(paths_.controller_log());
}

std::string Run::errors() const {
    return content_of(std::filesystem::path(folder_) / "stderr");
}

int Run::agents_port() const {
    std::string const text = log();
    auto const at = text.find(" agents_port=");
    return at == std::string::npos ? 0 : std::atoi(text.c_str() + at + 13);
}

}  // namespace osora::e2e
