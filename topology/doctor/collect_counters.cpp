// Counters of RDMA ports, from sysfs.
#include "topology/doctor/collect_internal.hpp"

#include <array>
#include <charconv>

namespace osora::topology::doctor {

namespace fs = std::filesystem;

void read_counters(NodeEvidence& node, fs::path const& root) {
    constexpr std::array kNames{
        "link_downed",     "link_error_recovery",         "symbol_error",
        "port_rcv_errors", "local_link_integrity_errors", "excessive_buffer_overrun_errors"};
    constexpr std::array kHardware{"out_of_sequence",       "packet_seq_err",
                                   "local_ack_timeout_err", "rnr_nak_retry_err",
                                   "implied_nak_seq_err",   "roce_adp_retrans"};
    auto const number_in = [](fs::path const& file) -> std::optional<std::int64_t> {
        std::string const text = line_of(file);
        std::int64_t value = 0;
        auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        if (error != std::errc() || value < 0) return {};
        return value;
    };
    auto const read = [&](Nic const& nic, auto const& names, char const* folder) {
        fs::path const port =
            root / "sys/class/infiniband" / nic.device / "ports" / std::to_string(nic.port);
        if (!is_there(port / folder)) return;
        bool const twice = is_there(port / (std::string(folder) + ".before"));
        for (char const* name : names) {
            auto const value = number_in(port / folder / name);
            if (!value) continue;
            node.counters.push_back({.device = nic.device, .name = name, .value = *value});
            if (twice)
                node.counters.back().before =
                    number_in(port / (std::string(folder) + ".before") / name);
        }
    };
    for (auto const& nic : node.machine->nics) {
        if (nic.device.empty()) continue;
        read(nic, kNames, "counters");
        read(nic, kHardware, "hw_counters");
        // "Global tclass=106"
        std::string const forced =
            line_of(root / "sys/class/infiniband" / nic.device / "tc/1/traffic_class");
        std::size_t const equals = forced.find("tclass=");
        int value = 0;
        if (equals == std::string::npos) continue;
        char const* const first = forced.data() + equals + 7;
        if (std::from_chars(first, forced.data() + forced.size(), value).ec == std::errc()) {
            node.traffic_class[nic.device] = value;
        }
    }
}

}  // namespace osora::topology::doctor
