// Folders of nodes are read in parallel, because a thousand trees are a hundred thousand small
// files.
#include "topology/doctor/collect.hpp"

#include "topology/doctor/collect_internal.hpp"
#include "topology/text_of.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <optional>
#include <set>
#include <thread>

namespace osora::topology::doctor {
namespace {

namespace fs = std::filesystem;

bool is_tree(fs::path const& path) {
    for (char const* each :
         {"proc", "sys", "etc", "environ", "lspci.txt", "versions.txt", "nvidia-smi.txt"}) {
        if (is_there(path / each)) return true;
    }
    return false;
}

/// n2 before n10.
bool natural_less(fs::path const& a, fs::path const& b) {
    std::string const x = a.filename().string(), y = b.filename().string();
    auto const head = [](std::string const& name) {
        return name.substr(0, name.find_last_not_of("0123456789") + 1);
    };
    if (head(x) != head(y) || x.size() == y.size()) return x < y;
    return x.size() < y.size();
}

/// A log, and the name of its writer if its lines name no host.
struct LogFile {
    fs::path path;
    std::string name;
};

struct Found {
    std::vector<fs::path> trees;
    std::vector<LogFile> logs;
};

/// Output of schedulers and launchers is called "slurm-17.out" or "rank0.err"; NCCL_DEBUG_FILE can
/// have any name: "nccl.n3.4711".
bool is_log(fs::path const& file) {
    std::string const name = file.filename().string();
    std::string const ending = file.extension().string();
    for (char const* each : {".log", ".out", ".err", ".stdout", ".stderr", ".txt"}) {
        if (ending == each) return true;
    }
    return name.starts_with("nccl") || name == "stdout" || name == "stderr" || name == "dmesg";
}

/// "gpu-3" of "gpu-3.log", "nccl-gpu-3.log", "gpu-3.dmesg.txt".
std::string name_of_log(fs::path const& file) {
    std::string name = file.stem().string();
    for (std::string_view const word : {"dmesg", "nccl", "syslog", "kern", "messages"}) {
        if (name == word) return fs::absolute(file).lexically_normal().parent_path().filename();
        for (char const joint : {'-', '_', '.'}) {
            std::string const front = std::string(word) + joint, back = joint + std::string(word);
            if (name.starts_with(front)) name.erase(0, front.size());
            if (name.ends_with(back)) name.resize(name.size() - back.size());
        }
    }
    return name;
}

/// Logs of a folder that is not a tree: of one node, named as the folder.
void add_logs_below(fs::path const& folder, std::vector<LogFile>& logs) {
    constexpr std::size_t kLogsMax = 1 << 16;
    std::error_code error;
    for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
        std::error_code ignored;
        bool const taken = at->is_regular_file(ignored) && is_log(at->path());
        if (taken && logs.size() < kLogsMax) logs.push_back({at->path(), folder.filename()});
    }
}

Found look_into(fs::path const& folder) {
    constexpr std::size_t kNodesMax = 1 << 16;
    Found found;
    std::error_code error;
    for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
        std::error_code ignored;
        bool const is_folder = at->is_directory(ignored);
        if (is_folder && is_tree(at->path()) && found.trees.size() < kNodesMax) {
            found.trees.push_back(at->path());
        } else if (is_folder && at->path().filename() != "nodes") {
            add_logs_below(at->path(), found.logs);
        } else if (!is_folder && is_log(at->path())) {
            found.logs.push_back({at->path(), name_of_log(at->path())});
        }
    }
    std::ranges::sort(found.trees, natural_less);
    std::ranges::sort(found.logs, {}, &LogFile::path);
    return found;
}

std::vector<NodeEvidence> read_all(std::vector<fs::path> const& trees) {
    constexpr unsigned kThreadsMax = 8;
    std::vector<NodeEvidence> nodes(trees.size());
    std::atomic<std::size_t> next = 0;
    auto const work = [&] {
        for (std::size_t i = next++; i < trees.size(); i = next++) {
            nodes[i] = read_recorded_node(trees[i], trees[i].filename().string());
        }
    };
    unsigned const cores = std::clamp(std::thread::hardware_concurrency(), 1u, kThreadsMax);
    std::vector<std::jthread> threads;
    for (unsigned i = 1; i < cores && i < trees.size(); ++i) threads.emplace_back(work);
    work();
    threads.clear();  // waits
    return nodes;
}

/// "n3" of "n3.cluster.example", as NCCL cuts it; an address is not cut.
std::string_view short_name(std::string_view name) {
    bool const whole = name.find_first_not_of("0123456789.") == std::string_view::npos ||
                       name.ends_with(')');  // "localhost (10.0.0.4)"
    return whole ? name : name.substr(0, name.find('.'));
}

/// Assigns log lines to the nodes that they come from: to trees by their name, or to new ones.
class LogReader {
public:
    explicit LogReader(Evidence& evidence)
        : evidence_(evidence), only_tree_(evidence.nodes.size() == 1) {}

    void read(LogFile const& file) {
        auto const parts = split_by_host(head_of(file.path));
        for (auto const& [host, lines] : parts) {
            std::string const name = host.empty() ? file.name : host;
            add_log_text(node_of(name, lines, parts.size() == 1), lines);
        }
    }

private:
    NodeEvidence& node_of(std::string const& name, std::string const& lines, bool only_host) {
        NcclLog log;
        add_nccl_log(log, lines);
        auto const apart = named_by_address(name, log);
        if (auto* known = find(apart)) return *known;
        auto& nodes = evidence_.nodes;
        auto const same = [&](NodeEvidence const& each) {
            return short_name(each.name) == short_name(name);
        };
        if (auto const at = std::ranges::find_if(nodes, same); at != nodes.end()) {
            if (!is_other_machine(*at, log)) return *at;
            several_.insert(name);
            at->name = named_by_address(name, at->log);
            return add(apart);
        }
        if (only_tree_ && only_host) return nodes.front();
        return add(several_.contains(name) ? apart : name);
    }

    /// The address where the ranks of the log meet; "": not logged, or not distinctive.
    static std::string address_in(NcclLog const& log) {
        auto const found = log.addresses.find(log.bootstrap_interface);
        bool const is_reachable = found != log.addresses.end() &&
                                  !found->second.starts_with("127.") &&
                                  !found->second.starts_with("fe80");
        return is_reachable ? found->second : "";
    }

    /// Containers and fresh machines may all be called "localhost": "localhost (10.0.0.4)".
    static std::string named_by_address(std::string const& name, NcclLog const& log) {
        auto const address = address_in(log);
        return address.empty() ? name : fmt::format("{} ({})", name, address);
    }

    static bool is_other_machine(NodeEvidence const& node, NcclLog const& log) {
        auto const has = address_in(node.log), is = address_in(log);
        bool const comparable = log.bootstrap_interface == node.log.bootstrap_interface;
        return !node.machine && comparable && !has.empty() && !is.empty() && has != is;
    }

    NodeEvidence* find(std::string const& name) {
        auto const at = std::ranges::find(evidence_.nodes, name, &NodeEvidence::name);
        return at == evidence_.nodes.end() ? nullptr : &*at;
    }

    NodeEvidence& add(std::string const& name) {
        auto& node = evidence_.nodes.emplace_back();
        node.name = name;
        return node;
    }

    Evidence& evidence_;
    bool only_tree_;
    std::set<std::string> several_;  // names that more than one machine has
};

void add_logs(Evidence& evidence, std::vector<LogFile> const& logs) {
    LogReader reader(evidence);
    for (auto const& each : logs) reader.read(each);
}

Result<Evidence> read_log_file(fs::path const& file) {
    Evidence evidence;
    LogReader(evidence).read({file, name_of_log(file)});
    if (evidence.nodes.empty()) {
        return Error{Errc::invalid_input,
                     fmt::format("{}: neither a folder of recorded files nor a log with lines of "
                                 "NCCL (NCCL_DEBUG=INFO)",
                                 file.string())};
    }
    return evidence;
}

std::optional<SlurmEvidence> slurm_of(fs::path const& folder) {
    for (char const* name :
         {"slurm/config.txt", "etc/slurm/slurm.conf", "etc/slurm-llnl/slurm.conf"}) {
        std::string const text = text_of(folder / name);
        if (!text.empty()) return parse_slurm_config(text);
    }
    return {};
}

}  // namespace

SlurmEvidence parse_slurm_config(std::string const& text) {
    SlurmEvidence slurm;
    auto const number_after = [&](std::string_view key, int otherwise, int most) {
        for (std::size_t at = text.find(key); at != std::string::npos;
             at = text.find(key, at + 1)) {
            bool const starts =
                at == 0 || std::string_view("\n\r ,=").find(text[at - 1]) != std::string_view::npos;
            std::size_t const digit = text.find_first_not_of(" =", at + key.size());
            if (!starts || digit == std::string::npos) continue;
            int value = 0;
            auto const [end, error] =
                std::from_chars(text.data() + digit, text.data() + text.size(), value);
            if (error == std::errc() && value >= 0 && value <= most) return value;
        }
        return otherwise;
    };
    slurm.cred_expire_s = number_after("cred_expire", slurm.cred_expire_s, 86'400);
    slurm.job_requeue = number_after("JobRequeue", 1, 1) == 1;
    return slurm;
}

Result<Evidence> read_evidence(fs::path const& path) {
    std::error_code error;
    if (fs::is_regular_file(path, error)) return read_log_file(path);
    if (!fs::is_directory(path, error)) {
        return Error{
            Errc::invalid_input,
            fmt::format("{}: {}", path.string(),
                        is_there(path) ? "not a folder of recorded files" : "no such folder")};
    }
    Evidence evidence;
    fs::path const folder = is_there(path / "nodes") ? path / "nodes" : path;
    if (is_tree(path) && folder == path) {
        evidence.nodes.push_back(read_recorded_node(path, ""));
    } else {
        auto const found = look_into(folder);
        evidence.nodes = read_all(found.trees);
        add_logs(evidence, found.logs);
        if (folder != path) add_logs(evidence, look_into(path).logs);
    }
    evidence.slurm = slurm_of(path);
    if (evidence.nodes.empty() && !evidence.slurm) {
        return Error{Errc::not_found,
                     fmt::format("{}: no proc/, sys/ or etc/ of a node in it, nor in its folders; "
                                 "no log with lines of NCCL (NCCL_DEBUG=INFO)",
                                 path.string())};
    }
    return evidence;
}

}  // namespace osora::topology::doctor
