#include "tests/cluster/faults/faulty_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>

namespace osora::cluster {

namespace fs = std::filesystem;
using namespace protocol;

FaultyRun::~FaultyRun() {
    (void)bed_.shell("ctl", "squeue -h -o %A 2>/dev/null | xargs -r scancel -s KILL");
    eventually([this] {
        auto const left = folder().processes();
        for (auto const& each : left) signal_process(each, SIGKILL);
        for (auto const& each : events<ControllerStarted>()) {
            if (has_controller()) (void)on(each.host, {"kill", "-KILL", std::to_string(each.pid)});
        }
        return left.empty() && !has_controller();
    });
    (void)bed_.run("ctl", {"rm", "-rf", state_.string()});
}

fs::path FaultyRun::home() const {
    return bed_.folder() / "home" / user_;
}

fs::path FaultyRun::run_dir() const {
    return state_ / "runs" / name_;
}

Ended FaultyRun::on(std::string const& machine, std::vector<std::string> const& argv) const {
    return bed_.run(user_ + "@" + machine, argv);
}

Ended FaultyRun::osora(std::vector<std::string> arguments, double limit_s) const {
    arguments.insert(arguments.begin(),
                     {"env", "OSORA_STATE_DIR=" + state_.string(), OSORA_BIN_DIR "/osora"});
    // A local run is on the machine that submitted it: use one that can fail.
    std::string const machine = backend_ == "local" ? "n0" : "ctl";
    return bed_.run(user_ + "@" + machine, arguments, limit_s);
}

std::string FaultyRun::run_file(std::string const& name, FaultSpec const& spec) const {
    bool const local = backend_ == "local";
    std::string text = fmt::format(
        "[run]\nname = \"{}\"\n"
        "[resources]\nbackend = \"{}\"\nnodes = {}\ngpus_per_node = {}\ncpus_per_worker = 1\n"
        "spares = {}\n"
        "[data]\nmanifest = \"clips.csv\"\nhost_memory_gib = 1\n"
        "[[bucket]]\nresolution = \"32\"\nnum_frames = 4\nmicro_batch_size = 1\n"
        "[train]\nsteps = {}\n"
        "[checkpoint]\nevery = 20\n"
        "[probe]\nbefore_start = \"never\"\n"
        "[faults]\nmax_restarts = {}\nlost_after = {}\n",
        name, backend_, local ? 1 : spec.nodes,
        local ? spec.nodes * spec.ranks_per_node : spec.ranks_per_node, local ? 0 : spec.spares,
        spec.steps, spec.max_restarts, spec.lost_after_s);
    if (local) text += fmt::format("lease = {}\n", spec.lease_s);
    if (spec.step_timeout_s > 0) text += fmt::format("step_timeout = {}\n", spec.step_timeout_s);
    if (backend_ == "ssh") text += "[ssh]\nhosts = [\"n0\", \"n1\", \"n2\", \"n3\"]\n";
    text += fmt::format("[worker]\nenv = {{ OSORA_MOCK_STEP_S = \"0.01\", OSORA_MOCK_HOLD = \"{}\"",
                        kHeldStep);
    for (auto const& [name, value] : spec.env) text += fmt::format(", {} = \"{}\"", name, value);
    return text + " }\n";
}

std::string FaultyRun::submit(std::string const& name, FaultSpec const& spec) {
    if (spec.small_disk) state_ = bed_.small_disk() / user_;
    std::ofstream(home() / "clips.csv") << "path,num_frames,height,width\na.mp4,64,96,96\n";
    std::ofstream(home() / "fault.toml") << run_file(name, spec);
    auto const submitted = osora({"submit", "fault.toml", "--detach"});
    if (submitted.code != 0) return submitted.err.empty() ? submitted.out : submitted.err;
    std::error_code none;
    for (auto const& entry : fs::directory_iterator(bed_.from_here(run_dir()), none)) {
        if (entry.is_directory()) name_ = entry.path().filename();
    }
    if (name_.empty()) return "osora submit made no run folder";
    link_release();
    return "";
}

void FaultyRun::link_release() const {
    auto const go = home() / ("go-" + name_);
    fs::remove(go);  // of the same row on another backend
    std::error_code failed;
    fs::create_symlink(go, bed_.from_here(run_dir()) / "go", failed);
    EXPECT_EQ(failed.value(), 0) << failed.message();
}

void FaultyRun::await_steps(int steps, double limit_s) const {
    auto const enough = [&] { return folder().steps_done() >= steps; };
    EXPECT_TRUE(eventually(enough, limit_s)) << "no " << steps << " steps\n" << logs();
}

RunEnded FaultyRun::await_end(double limit_s) const {
    bool const over = eventually([this] { return !events<RunEnded>().empty(); }, limit_s);
    EXPECT_TRUE(over) << "not over after " << limit_s << " s\n" << logs();
    auto const ends = events<RunEnded>();
    EXPECT_LE(ends.size(), 1u);
    return ends.empty() ? RunEnded{} : ends.front();
}

std::string FaultyRun::machine_of(int node) const {
    std::string host;
    for (auto const& joined : events<AgentJoined>()) {
        if (joined.node == node) host = joined.host;
    }
    EXPECT_FALSE(host.empty()) << "node " << node << " never joined\n" << logs();
    return host;
}

int FaultyRun::node_of_rank(int rank) const {
    int node = -1;
    for (auto const& started : events<RankStarted>()) {
        if (started.rank == rank) node = started.node;
    }
    EXPECT_GE(node, 0) << "rank " << rank << " never started\n" << logs();
    return node;
}

void FaultyRun::signal_rank(int rank, int signal) const {
    int pid = 0;
    for (auto const& started : events<RankStarted>()) {
        if (started.rank == rank) pid = started.pid;
    }
    ASSERT_GT(pid, 0) << "rank " << rank << " never started\n" << logs();
    auto const sent = bed_.run(machine_of(node_of_rank(rank)),
                               {"kill", fmt::format("-{}", signal), std::to_string(pid)});
    EXPECT_EQ(sent.code, 0) << sent.err;
}

void FaultyRun::signal_agent(int node, int signal) const {
    int pid = 0;
    for (auto const& joined : events<AgentJoined>()) {
        if (joined.node == node) pid = joined.pid;
    }
    ASSERT_GT(pid, 0) << "node " << node << " never joined\n" << logs();
    auto const sent =
        bed_.run(machine_of(node), {"kill", fmt::format("-{}", signal), std::to_string(pid)});
    EXPECT_EQ(sent.code, 0) << sent.err;
}

void FaultyRun::kill_controller() const {
    auto const started = events<ControllerStarted>();
    ASSERT_FALSE(started.empty()) << logs();
    auto const& last = started.back();
    auto const sent = bed_.run(last.host, {"kill", "-KILL", std::to_string(last.pid)});
    EXPECT_EQ(sent.code, 0) << sent.err;
    EXPECT_TRUE(eventually([&] {
        return events<ControllerStarted>().size() > started.size() || !has_controller();
    })) << "the controller lives on";
}

bool FaultyRun::has_controller() const {
    auto const started = events<ControllerStarted>();
    if (started.empty()) return false;
    auto const& last = started.back();
    // Its command line contains the run's folder: the number may belong to another process by now.
    auto const command = fmt::format("tr '\\0' ' ' </proc/{}/cmdline", last.pid);
    return bed_.shell(last.host, command).out.find(run_dir().string()) != std::string::npos;
}

std::pair<std::string, std::string> FaultyRun::history() const {
    auto const reported = parse_json(osora({"history", "--json"}).out);
    if (reported.has_error() || !reported->is_object()) return {"no history", ""};
    auto const* runs = reported->as_object().if_contains("runs");
    if (runs == nullptr || runs->as_array().empty()) return {"no run in the history", ""};
    auto const& run = runs->as_array().at(0).as_object();
    if (!run.at("verdict").is_string()) return {"no verdict", ""};
    return {std::string(run.at("verdict").as_string()), std::string(run.at("cause").as_string())};
}

}  // namespace osora::cluster
