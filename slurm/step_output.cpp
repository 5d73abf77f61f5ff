// "srun: error: n[0-1]: tasks 0-1: Exited with exit code 3", "srun: error: n2: task 2: Killed".
#include "slurm/step_output.hpp"

#include "base/host_list.hpp"
#include "base/text/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>
#include <cstring>
#include <optional>
#include <utility>

namespace osora::slurm {
namespace {

std::string_view after(std::string_view text, std::string_view marker) {
    std::size_t const at = text.find(marker);
    return at == std::string_view::npos ? std::string_view() : text.substr(at + marker.size());
}

/// "Killed", "Segmentation fault (core dumped)": the text of strsignal().
int signal_of(std::string_view words) {
    words = words.substr(0, words.find(" ("));
    for (int number = 1; number < SIGRTMIN; ++number) {
        char const* const name = ::strsignal(number);
        if (name != nullptr && words == name) return number;
    }
    return 0;
}

/// "3", "0-2,5" -> numbers
std::vector<int> task_numbers(std::string_view list) {
    std::vector<int> tasks;
    auto const names = expand_host_list(fmt::format("[{}]", list));
    if (names.has_error()) return tasks;
    for (std::string const& name : *names) tasks.push_back(leading_number<int>(name).value_or(0));
    return tasks;
}

std::optional<TaskEnd> read_end(std::string_view line) {
    std::string_view rest = after(line, ": tasks ");
    if (rest.empty()) rest = after(line, ": task ");
    std::size_t const colon = rest.find(": ");
    if (colon == std::string_view::npos) return {};
    TaskEnd end;
    end.tasks = task_numbers(rest.substr(0, colon));
    if (end.tasks.empty()) return {};
    std::string_view const how = rest.substr(colon + 2);
    std::string_view const code = after(how, "exit code ");
    if (!code.empty()) {
        end.exit_code = leading_number<int>(code).value_or(1);
        return end;
    }
    if (how.starts_with("Completed")) return end;
    end.signal = signal_of(how);
    if (end.signal == 0) return {};  // "task 3: running"
    return end;
}

}  // namespace

StepLine parse_step_line(std::string_view line) {
    StepLine read;
    if (!line.starts_with("srun: ")) return read;
    while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) line.remove_suffix(1);
    if (auto end = read_end(line)) read.ended.push_back(std::move(*end));
    // "Task launch for StepId=13.0 failed on node n2: Communication connection failure"
    std::string_view lost = after(line, "Node failure on ");
    if (lost.empty()) lost = after(line, " failed on node ");
    if (!lost.empty()) {
        auto hosts = expand_host_list(lost.substr(0, lost.find_first_of(" ;:")));
        if (hosts.has_value()) read.nodes_lost = std::move(*hosts);
    }
    return read;
}

std::string first_error(std::string_view output) {
    constexpr std::string_view kMark = "error: ";
    std::string_view const error = after(output, kMark);
    return std::string(error.substr(0, error.find('\n')));
}

bool blames_host(std::string_view error) {
    constexpr std::array<std::string_view, 6> kWords{
        "failed on node",    "Node failure", "Communication connection failure",
        "Invalid node name", "DOWN",         "not responding"};
    return std::ranges::any_of(
        kWords, [error](std::string_view words) { return error.find(words) != error.npos; });
}

}  // namespace osora::slurm
