#include "cli/cluster/nccl/nccl_inputs.hpp"

#include "base/files/files.hpp"
#include "base/text/units.hpp"
#include "cli/command/context.hpp"
#include "cli/command/exit_code.hpp"
#include "cli/text/text_table.hpp"
#include "protocol/json.hpp"
#include "topology/collectives/nccl_tests_log.hpp"
#include "topology/nccl/nccl_graphs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>

namespace osora::cli {
namespace {

constexpr std::int64_t kNcclFileBytesMax = 256 * kMiB;
constexpr std::size_t kSizesMax = 10'000;

/// Of a probe's result: NCCL's samples if there are any, else Gloo's.
Result<std::vector<topology::SampleGroup>> samples_of_probe(std::string const& text) {
    OSORA_TRY(auto probe, protocol::decode<topology::ProbeResult>(text));
    auto& samples = probe.collectives;
    auto const is_nccl = [](auto const& each) { return each.backend == "nccl"; };
    if (std::ranges::any_of(samples, is_nccl)) std::erase_if(samples, std::not_fn(is_nccl));
    if (samples.empty()) {
        return Error{Errc::not_found,
                     "no times of collectives: osora probe --collectives measures them"};
    }
    return topology::group_samples(samples);
}

}  // namespace

Result<std::string> read_nccl_file(std::string const& file) {
    auto text = read_file(file, kNcclFileBytesMax);
    if (text.has_error()) return Error{Errc::invalid_input, text.error().message};
    return text;
}

Result<std::string> read_measurements(std::string const& file) {
    OSORA_TRY(std::string text, read_nccl_file(file));
    if (!topology::is_nccl_tests_log(text)) return text;
    auto csv = topology::csv_of_nccl_tests(text);
    if (csv.has_error()) return std::move(csv).error().in(file);
    return csv;
}

Result<std::vector<topology::SampleGroup>> read_samples(std::string const& file) {
    OSORA_TRY(std::string const text, read_measurements(file));
    auto const first = text.find_first_not_of(" \t\r\n");
    bool const json = first != std::string::npos && text[first] == '{';
    auto groups = json ? samples_of_probe(text) : topology::parse_samples(text);
    if (groups.has_error()) return std::move(groups).error().in(file);
    if (groups->empty()) return Error{Errc::not_found, file + ": no samples, only a header"};
    return groups;
}

Result<std::vector<topology::NcclGroup>> read_graphs(std::string const& file,
                                                     std::optional<std::string> const& machine) {
    OSORA_TRY(std::string const text, read_nccl_file(file));
    auto groups = topology::parse_nccl_graphs(text);
    if (groups.has_error()) return std::move(groups).error().in(file);
    std::set<std::string> names;
    for (auto const& each : *groups) names.insert(each.topology);
    if (machine) {
        if (!names.contains(*machine)) {
            return Error{
                Errc::invalid_input,
                fmt::format("{}: no topology '{:.60}'; first of {} there: {}", file, *machine,
                            names.size(), names.empty() ? "none" : *names.begin())};
        }
        std::erase_if(*groups, [&](auto const& each) { return each.topology != *machine; });
    }
    if (groups->empty()) return Error{Errc::not_found, file + ": no graphs, only a header"};
    return groups;
}

Result<std::vector<std::int64_t>> parse_sizes(std::string const& list) {
    std::vector<std::int64_t> sizes;
    for (std::size_t at = 0; at <= list.size();) {
        std::size_t const end = std::min(list.find(',', at), list.size());
        OSORA_TRY(auto const size, topology::parse_size_bytes(list.substr(at, end - at)));
        sizes.push_back(size);
        at = end + 1;
    }
    if (sizes.size() > kSizesMax) return Error{Errc::invalid_input, "more than 10,000 sizes"};
    return sizes;
}

Result<topology::NcclVersion> nccl_version(Arguments const& arguments) {
    auto const text = arguments.value("--nccl-version");
    if (!text) return topology::NcclVersion{};
    return topology::parse_nccl_version(*text);
}

std::string microseconds(double time_us) {
    if (time_us < 1e3) return three_digits(time_us) + " us";
    if (time_us < 1e6) return three_digits(time_us / 1e3) + " ms";
    return three_digits(time_us / 1e6) + " s";
}

std::string group_title(topology::Collective collective, topology::GroupShape const& shape) {
    return fmt::format("{} · {}", topology::collective_name(collective), topology::describe(shape));
}

OptionSpec samples_option() {
    return {.name = "--samples",
            .value = "FILE",
            .help =
                "CSV: collective, ranks, nodes, size_bytes, time_us; or what nccl-tests "
                "printed, or osora probe --collectives --json wrote.",
            .complete = Complete::file};
}

OptionSpec graphs_option() {
    return {.name = "--graphs",
            .value = "FILE",
            .help = "CSV of the channels that NCCL's search found.",
            .complete = Complete::file};
}

OptionSpec nccl_version_option() {
    return {.name = "--nccl-version",
            .value = "VERSION",
            .help = "Whose constants: 2.18 to 2.x; 2.30.7."};
}

OptionSpec collective_option() {
    return {.name = "--collective", .value = "NAME", .help = "all_reduce, all_gather, ..."};
}
OptionSpec ranks_option() {
    return {.name = "--ranks", .value = "N", .help = "Ranks of the group."};
}
OptionSpec nodes_option() {
    return {.name = "--nodes", .value = "N", .help = "Nodes of the group."};
}

int nccl_exit_code(Error const& error) {
    return error.code == Errc::not_found ? kExitUndecided : exit_code_for(error.code);
}

}  // namespace osora::cli
