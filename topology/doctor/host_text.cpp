#include "topology/doctor/host_text.hpp"

#include "base/text/text.hpp"
#include "topology/xid.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

namespace osora::topology::doctor {
namespace {

using View = std::string_view;

std::optional<std::int64_t> number(View text) {
    std::int64_t value = 0;
    auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value < 0) return {};
    return value;
}

/// "unlimited", "infinity", "-1", or a number.
std::int64_t limit(View text, std::int64_t unit = 1) {
    if (text == "unlimited" || text == "infinity" || text == "-1") return kUnlimited;
    auto const value = number(text);
    constexpr std::int64_t kMost = std::int64_t{1} << 50;
    return value && *value <= kMost ? *value * unit : value ? kUnlimited : kNotKnown;
}

/// The number at the start of a value like "84 C" or "1980 MHz".
double leading(View text) {
    double value = 0;
    auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && std::isfinite(value) ? value : std::nan("");
}

bool is_hex(View text) {
    return !text.empty() && text.find_first_not_of("0123456789abcdefABCDEF") == View::npos;
}

/// "0000:1b:00.0" of a line of lspci that starts a device: "1b:00.0 PCI bridge: ...".
std::string lspci_address(View line) {
    View const word = line.substr(0, line.find(' '));
    std::size_t const dot = word.rfind('.'), colon = word.rfind(':');
    bool const shaped = dot != View::npos && colon != View::npos && dot == colon + 3 &&
                        dot + 2 == word.size() && is_hex(word.substr(colon + 1, 2)) &&
                        is_hex(word.substr(dot + 1)) && colon >= 2 &&
                        is_hex(word.substr(colon - 2, 2));
    if (!shaped) return {};
    if (word.size() == 7) return "0000:" + lower(word);
    return word.size() == 12 && is_hex(word.substr(0, 4)) ? lower(word) : std::string();
}

}  // namespace

ProcessLimits parse_limits(View text) {
    ProcessLimits limits;
    each_line(text, [&](View line) {
        for (auto const& [name, is_memlock] :
             {std::pair{View("Max locked memory"), true}, {View("Max open files"), false}}) {
            if (!line.starts_with(name)) continue;
            auto const words = words_of(line.substr(name.size()));
            if (words.size() < 2) continue;
            (is_memlock ? limits.memlock_bytes : limits.open_files) =
                limit(words[is_memlock ? 0 : 1]);
        }
    });
    return limits;
}

ProcessLimits parse_security_limits(View text) {
    ProcessLimits limits;
    each_line(text, [&](View line) {
        auto const words = words_of(line.substr(0, line.find('#')));
        if (words.size() < 4 || (words[0] != "*" && words[0] != "root")) return;
        if (words[0] == "root") return;  // ranks are not root's
        bool const soft = words[1] == "soft" || words[1] == "-";
        bool const hard = words[1] == "hard" || words[1] == "-";
        if (words[2] == "memlock" && soft) limits.memlock_bytes = limit(words[3], 1024);
        if (words[2] == "nofile" && hard) limits.open_files = limit(words[3]);
    });
    return limits;
}

std::int64_t shm_bytes_of(View mounts, std::int64_t memory_bytes) {
    std::int64_t bytes = 0;
    each_line(mounts, [&](View line) {
        auto const words = words_of(line);
        if (words.size() < 4 || words[1] != "/dev/shm" || words[2] != "tmpfs") return;
        bytes = memory_bytes / 2;
        std::size_t const at = words[3].find("size=");
        if (at == View::npos) return;
        View text = words[3].substr(at + 5);
        text = text.substr(0, text.find(','));
        std::int64_t unit = 1;
        if (text.ends_with('k')) unit = 1024;
        if (text.ends_with('m')) unit = 1 << 20;
        if (text.ends_with('g')) unit = 1 << 30;
        if (unit > 1) text.remove_suffix(1);
        auto const value = number(text);
        if (value && *value < (std::int64_t{1} << 40)) bytes = *value * unit;
    });
    return bytes;
}

std::map<std::string, std::string> acs_of_lspci(View text) {
    std::map<std::string, std::string> acs;
    std::string device;
    each_line(text, [&](View line) {
        if (!line.empty() && line.front() != ' ' && line.front() != '\t') {
            device = lspci_address(line);
            return;
        }
        std::size_t const at = line.find("ACSCtl:");
        if (at == View::npos || device.empty()) return;
        acs[device] = line.find("SrcValid+", at) != View::npos ? "on" : "off";
    });
    return acs;
}

Iommu iommu_of_cmdline(View cmdline) {
    Iommu iommu = Iommu::not_known;
    bool passthrough = false;
    for (View const word : words_of(cmdline)) {
        if (word == "iommu=pt" || word == "iommu.passthrough=1") passthrough = true;
        if (word == "intel_iommu=off" || word == "amd_iommu=off" || word == "iommu=off") {
            iommu = Iommu::off;
        }
        if (word == "intel_iommu=on" || word.starts_with("intel_iommu=on,")) {
            iommu = Iommu::translated;
        }
    }
    return passthrough && iommu != Iommu::off ? Iommu::passthrough : iommu;
}

namespace {

/// "Reset", "Node Reboot Required", "Drain P2P"; not "None", nor "Unknown Error" of a lost GPU.
bool asks_for_action(View words) {
    return words.find("Reset") != View::npos || words.find("Reboot") != View::npos ||
           words.find("Drain") != View::npos;
}

void read_smi_line(SmiReport& report, View key, View value) {
    GpuState& gpu = report.gpus.back();
    bool const active = value == "Active";
    if (key == "GPU Current Temp") gpu.temperature_c = leading(value);
    if (key == "SM" && value.ends_with("MHz") && std::isnan(gpu.sm_mhz))
        gpu.sm_mhz = leading(value);
    if (key == "Gpu" && value.ends_with('%')) gpu.utilisation = leading(value) / 100;
    if (key == "GPU Recovery Action" && asks_for_action(value)) {
        gpu.recovery_action = value.substr(0, 32);
    }
    if (key == "Remapping Failure Occurred" && value == "Yes") gpu.remap_failed = true;
    if (key == "HW Slowdown" && active) gpu.throttle_reasons |= 0x8;
    if (key == "SW Thermal Slowdown" && active) gpu.throttle_reasons |= 0x20;
    if (key == "HW Thermal Slowdown" && active) gpu.throttle_reasons |= 0x40;
    if (key == "HW Power Brake Slowdown" && active) gpu.throttle_reasons |= 0x80;
}

}  // namespace

SmiReport parse_nvidia_smi(View text) {
    constexpr std::size_t kGpusMax = 1024;
    SmiReport report;
    std::string section;
    each_line(text, [&](View line) {
        bool const first_column = !line.empty() && line.front() != ' ' && line.front() != '\t';
        if (first_column && line.starts_with("GPU ") && report.gpus.size() < kGpusMax) {
            report.gpus.push_back({.gpu = static_cast<int>(report.gpus.size())});
            section.clear();
        }
        if (report.gpus.empty()) return;
        std::size_t const colon = line.find(" : ");
        if (colon == View::npos) {
            section = std::string(trimmed(line).substr(0, 64));
            return;
        }
        View const key = trimmed(line.substr(0, colon)), value = trimmed(line.substr(colon + 3));
        if (section == "Fabric" && key == "State") {
            bool const well = value == "Completed" || value == "N/A";
            if (report.fabric_state.empty() || !well) report.fabric_state = value.substr(0, 32);
        }
        if (section == "Volatile" && key.find("Uncorrectable") != View::npos) {
            report.gpus.back().ecc_uncorrected += number(value).value_or(0);
        }
        // "Clocks" are the current ones; application and maximum clocks are in later sections.
        if (key == "SM" && section != "Clocks") return;
        read_smi_line(report, key, value);
    });
    return report;
}

namespace {

constexpr std::size_t kGpusOfDmesgMax = 64;
constexpr int kOffTheBus = 79;

/// The number at the start of a text; -1 = none that could be an Xid.
int xid_at(View text) {
    auto const xid = number(text.substr(0, text.find_first_not_of("0123456789")));
    return xid && *xid < 10'000 ? static_cast<int>(*xid) : -1;
}

struct XidLine {
    std::string address;  // "0000:3b:00"
    View words;           // "79, pid=0, GPU has fallen off the bus."
    int cause = -1;       // 149 of "45, pid=7, Ch 00000001 caused by previous Xid 149"
};

std::optional<XidLine> xid_line(View line) {
    std::size_t const at = line.find("Xid (PCI:");
    bool const of_switch = at != View::npos && at > 0 && line[at - 1] == 'S';
    if (at == View::npos || of_switch) return {};
    View const rest = line.substr(at + View("Xid (PCI:").size());
    std::size_t const close = rest.find("):");  // "0000:01:00 GPU-I:05": a part of a MIG GPU
    View const address = rest.substr(0, std::min(close, rest.find(' ')));
    if (close == View::npos || close > 40 || address.size() > 16) return {};
    XidLine found{.address = lower(address), .words = trimmed(rest.substr(close + 2))};
    constexpr View kCause = "caused by previous Xid ";
    std::size_t const cause = found.words.find(kCause);
    if (cause != View::npos) found.cause = xid_at(found.words.substr(cause + kCause.size()));
    return found;
}

/// "0000:44:00" of "NVRM: GPU 0000:44:00.0: GPU has fallen off the bus.", "NVRM: The NVIDIA GPU
/// 0000:b3:00.0" and "NVRM: GPU at 0000:01:00.0 has ..."; "" = the line names no GPU.
std::string gpu_named(View line) {
    std::size_t const driver = line.find("NVRM: ");
    std::size_t const at = driver == View::npos ? driver : line.find("GPU ", driver);
    if (at == View::npos) return {};
    View word = line.substr(at + View("GPU ").size());
    if (word.starts_with("at ")) word.remove_prefix(3);
    word = word.substr(0, word.find(' '));
    while (word.ends_with(':') || word.ends_with('\r')) word.remove_suffix(1);
    std::string const address = lspci_address(word);
    return address.substr(0, address.find('.'));
}

/// NVLink errors since Blackwell, 144 to 150, say themselves whether they are fatal; 154 says what
/// the GPU needs. Channels that an NVLink error or a fatal Xid ended are lost with their ranks.
bool is_fatal_event(XidLine const& line) {
    auto const is_nvlink = [](int xid) { return xid >= 144 && xid <= 150; };
    int const xid = xid_at(line.words);
    if (is_nvlink(xid)) return line.words.find(" Fatal ") != View::npos;
    if (xid == 154) {
        std::size_t const to = line.words.rfind(" to ");
        return to != View::npos && asks_for_action(line.words.substr(to));
    }
    return is_nvlink(line.cause) || is_fatal_xid(line.cause);
}

/// "154, GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)": it was reset.
bool is_recovery(XidLine const& line) {
    return xid_at(line.words) == 154 && line.words.ends_with("(None)");
}

}  // namespace

std::map<std::string, std::vector<int>> xids_of_dmesg(View text) {
    constexpr std::size_t kKept = 64;
    std::map<std::string, std::vector<int>> xids;
    auto const add = [&](std::string const& address, int xid) {
        if (xids.size() >= kGpusOfDmesgMax && !xids.contains(address)) return;
        auto& list = xids[address];
        if (xid >= 0 && list.size() < kKept) list.push_back(xid);
    };
    std::string named;  // in this line, or in an earlier one: a message may have three lines
    each_line(text, [&](View line) {
        if (auto const found = xid_line(line)) {
            if (found->cause >= 0) add(found->address, found->cause);
            add(found->address, xid_at(found->words));
            return;
        }
        if (auto gpu = gpu_named(line); !gpu.empty()) named = std::move(gpu);
        bool const lost =
            line.find("NVRM: ") != View::npos && line.find("fallen off the bus") != View::npos;
        if (lost && !named.empty()) add(named, kOffTheBus);
    });
    return xids;
}

std::map<std::string, std::string> fatal_events_of_dmesg(View text) {
    constexpr std::size_t kBytes = 120;
    std::map<std::string, std::string> events;
    each_line(text, [&](View line) {
        auto const found = xid_line(line);
        if (!found) return;
        if (is_recovery(*found)) {
            auto const known = events.find(found->address);
            if (known != events.end() && known->second.starts_with("154")) events.erase(known);
        }
        if (!is_fatal_event(*found) || events.size() >= kGpusOfDmesgMax) return;
        View const words = found->words.substr(0, found->words.find(" (0x0"));
        events.emplace(found->address, trimmed(words.substr(0, kBytes)));
    });
    return events;
}

std::vector<std::string> fatal_sxids_of_dmesg(View text) {
    constexpr std::size_t kKept = 16, kBytes = 120;
    std::vector<std::string> lines;
    each_line(text, [&](View line) {
        std::size_t const at = line.find("SXid (PCI:");
        bool const fatal = at != View::npos && line.find(", Fatal", at) != View::npos;
        if (fatal && lines.size() < kKept) lines.emplace_back(trimmed(line.substr(at, kBytes)));
    });
    return lines;
}

}  // namespace osora::topology::doctor
