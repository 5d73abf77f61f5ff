// Reads /proc, uname and the worker's bytes.
#include "cli/run/facts.hpp"

#include "base/files/files.hpp"
#include "base/version.hpp"
#include "topology/local_machine.hpp"

#include <fmt/format.h>
#include <openssl/evp.h>
#include <sys/utsname.h>

#include <array>
#include <memory>

namespace osora::cli {
namespace {

std::string sha256_of(std::filesystem::path const& file) {
    auto const bytes = read_file(file);
    if (bytes.has_error()) return "";
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned int length = 0;
    if (EVP_Digest(bytes->data(), bytes->size(), digest.data(), &length, EVP_sha256(), nullptr) !=
        1) {
        return "";
    }
    std::string text;
    for (unsigned int i = 0; i < length; ++i) text += fmt::format("{:02x}", digest[i]);
    return text;
}

}  // namespace

std::string cpu_model(std::string_view cpuinfo) {
    constexpr std::string_view kKey = "model name";
    auto const at = cpuinfo.find(kKey);
    if (at == std::string_view::npos) return "";
    auto const colon = cpuinfo.find(':', at);
    auto const end = cpuinfo.find('\n', at);
    if (colon == std::string_view::npos || colon > end) return "";
    auto text = cpuinfo.substr(colon + 1, end - colon - 1);
    text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
    return std::string(text);
}

bool is_relevant_variable(std::string_view entry) {
    for (std::string_view const prefix : {"NCCL_", "CUDA_", "TORCH_", "OMP_"}) {
        if (entry.starts_with(prefix)) return true;
    }
    return false;
}

std::map<std::string, std::string> submission_facts(Environment const& environment,
                                                    std::filesystem::path const& worker) {
    std::map<std::string, std::string> facts{{"osora.version", kVersion},
                                             {"osora.commit", kGitCommit}};
    utsname system{};
    if (::uname(&system) == 0) {
        facts["host.name"] = system.nodename;
        facts["host.kernel"] = system.release;
        facts["host.arch"] = system.machine;
    }
    auto const node = topology::read_local_machine();
    facts["host.cores"] = std::to_string(node.cores);
    facts["host.memory_bytes"] = std::to_string(node.memory_bytes);
    auto const cpuinfo = read_file("/proc/cpuinfo");
    std::string const cpu = cpuinfo.has_value() ? cpu_model(*cpuinfo) : std::string();
    if (!cpu.empty()) facts["host.cpu"] = cpu;
    if (auto const hash = sha256_of(worker); !hash.empty()) facts["worker.sha256"] = hash;
    for (std::string const& entry : environment) {
        auto const equals = entry.find('=');
        if (equals == std::string::npos || !is_relevant_variable(entry)) continue;
        facts[entry.substr(0, equals)] = entry.substr(equals + 1);
    }
    return facts;
}

}  // namespace osora::cli
