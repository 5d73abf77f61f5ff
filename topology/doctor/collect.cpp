// Folders of nodes: read side by side, since a thousand trees are a hundred thousand small files.
#include "topology/doctor/collect.hpp"

#include "topology/doctor/collect_internal.hpp"
#include "topology/text_of.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <optional>
#include <thread>

namespace osora::topology::doctor {
namespace {

namespace fs = std::filesystem;

bool is_tree(fs::path const& path) {
    for (char const* each : {"proc", "sys", "etc", "environ", "lspci.txt", "versions.txt"}) {
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

struct Found {
    std::vector<fs::path> trees, logs;
};

Found look_into(fs::path const& folder) {
    constexpr std::size_t kNodesMax = 1 << 16;
    Found found;
    std::error_code error;
    for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
        std::error_code ignored;
        bool const is_folder = at->is_directory(ignored);
        if (is_folder && is_tree(at->path()) && found.trees.size() < kNodesMax) {
            found.trees.push_back(at->path());
        }
        if (!is_folder && at->path().extension() == ".log") found.logs.push_back(at->path());
    }
    std::ranges::sort(found.trees, natural_less);
    std::ranges::sort(found.logs);
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

/// Lines of hosts that have no tree make nodes of their own.
void add_logs(Evidence& evidence, std::vector<fs::path> const& logs) {
    for (auto const& file : logs) {
        std::string const text = head_of(file);
        for (auto const& [host, lines] : split_by_host(text)) {
            auto node = std::ranges::find(evidence.nodes, host, &NodeEvidence::name);
            if (node == evidence.nodes.end() && evidence.nodes.size() == 1) {
                node = evidence.nodes.begin();
            }
            if (node == evidence.nodes.end() && host.empty()) continue;
            if (node == evidence.nodes.end()) {
                evidence.nodes.emplace_back().name = host;
                node = std::prev(evidence.nodes.end());
            }
            add_nccl_log(node->log, lines);
        }
    }
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
    if (!fs::is_directory(path, error)) {
        return Error{
            Errc::invalid_input,
            fmt::format("{}: {}", path.string(),
                        is_there(path) ? "not a folder of recorded files" : "no such folder")};
    }
    Evidence evidence;
    fs::path const folder = is_there(path / "nodes") ? path / "nodes" : path;
    auto const found = look_into(folder);
    if (is_tree(path) && folder == path) {
        evidence.nodes.push_back(read_recorded_node(path, ""));
    } else {
        evidence.nodes = read_all(found.trees);
        add_logs(evidence, found.logs);
        if (folder != path) add_logs(evidence, look_into(path).logs);
    }
    evidence.slurm = slurm_of(path);
    if (evidence.nodes.empty() && !evidence.slurm) {
        return Error{Errc::not_found,
                     fmt::format("{}: no proc/, sys/ or etc/ of a node in it, nor in its folders",
                                 path.string())};
    }
    return evidence;
}

}  // namespace osora::topology::doctor
