// Which host wrote a line. NCCL writes "HOST:PID:TID [DEVICE] " at the start of all lines except
// its version; text before that comes from others: srun -l, mpirun, torchrun, Ray, containers,
// colours, times.
#include "base/text/text.hpp"
#include "topology/doctor/log/last_error.hpp"
#include "topology/doctor/log/nccl_log_internal.hpp"

#include <algorithm>
#include <charconv>
#include <set>
#include <vector>

namespace osora::topology::doctor {
namespace {

using View = std::string_view;

constexpr View kDecimals = "0123456789";
constexpr View kHostBytes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._";

/// Length of a colour sequence at the start of a text, with or without its escape byte: "\x1b[36m",
/// "[0m"; 0 = there is none.
std::size_t colour_bytes(View text) {
    std::size_t const open = text.starts_with('\x1b') ? 1 : 0;
    if (text.size() <= open || text[open] != '[') return 0;
    std::size_t const end = text.find_first_not_of("0123456789;", open + 1);
    if (end == View::npos) return 0;
    bool const coloured = text[end] == 'm' && (open == 1 || end > open + 1);
    bool const other = open == 1 && (text[end] == 'K' || text[end] == 'J');
    return coloured || other ? end + 1 : 0;
}

bool is_escaped(View text, std::size_t at) {
    std::size_t slashes = 0;
    while (slashes < at && text[at - 1 - slashes] == '\\') ++slashes;
    return slashes % 2 == 1;
}

/// The content of a JSON string, as far as logs need it: quotes, line ends, "\u003c".
std::string unescaped(View text) {
    std::string plain;
    while (!text.empty()) {
        std::size_t const at = std::min(text.find('\\'), text.size());
        plain.append(text.substr(0, at));
        text.remove_prefix(at);
        if (text.size() < 2) break;
        unsigned code = 0;
        char const* const digits = text.data() + 2;
        bool const hex = text[1] == 'u' && text.size() >= 6 &&
                         std::from_chars(digits, digits + 4, code, 16).ptr == digits + 4;
        if (hex && code < 0x80) plain += static_cast<char>(code);
        if (text[1] == '"' || text[1] == '\\' || text[1] == '/') plain += text[1];
        if (text[1] == 't') plain += ' ';
        text.remove_prefix(hex ? 6 : 2);
    }
    return plain;
}

/// The text of a line as Docker and log collectors store it: {"log":"n3:1:2 [0] NCCL INFO ...\n"}.
/// Starts with a space, so that it is never taken for JSON again.
std::string unwrapped(View line) {
    std::size_t const key = line.find("CCL ");
    std::size_t const at = std::min(key, line.find("Xid (PCI:"));
    if (at == View::npos) return " " + std::string(line);
    std::size_t open = line.rfind('"', at), close = line.find('"', at);
    while (open != View::npos && open > 0 && is_escaped(line, open))
        open = line.rfind('"', open - 1);
    while (close != View::npos && is_escaped(line, close)) close = line.find('"', close + 1);
    if (open == View::npos || close == View::npos) return " " + std::string(line);
    return " " + unescaped(line.substr(open + 1, close - open - 1));
}

/// The number of digits at `at`; 0 = none.
std::size_t digits_at(View text, std::size_t at) {
    std::size_t const end = std::min(text.find_first_not_of(kDecimals, at), text.size());
    return end > at ? end - at : 0;
}

/// Whether ":PID:TID [" is at `at`.
bool is_process(View text, std::size_t at) {
    std::size_t const pid = digits_at(text, at + 1);
    std::size_t const second = at + 1 + pid;
    if (pid == 0 || second >= text.size() || text[second] != ':') return false;
    std::size_t const tid = digits_at(text, second + 1);
    return tid > 0 && text.substr(second + 1 + tid).starts_with(" [");
}

struct Origin {
    std::string prefix;  // other prefixes, without times
    View host;           // "" = the line names none
    View process;        // "4711"
};

/// "[2024-05-01", "10:00:00.123]", "2024-05-01T10:00:00Z": different on every line.
bool is_time(View word) {
    auto const digits = std::ranges::count_if(word, [](char c) { return c >= '0' && c <= '9'; });
    return digits >= 6 && word.find_first_not_of("0123456789-:.,TZ+/[]") == View::npos;
}

std::string prefix_of(View text) {
    std::string prefix;
    for (View const word : words_of(text)) {
        if (!is_time(word)) prefix.append(word) += ' ';
    }
    return prefix;
}

/// "10:00:00 [0]" is a time and a number.
bool is_clock(View host, View process) {
    return host.size() <= 2 && process.size() <= 2 &&
           host.find_first_not_of(kDecimals) == View::npos;
}

/// "n3" and the text before it. The last process in the head is NCCL's: "10:00:00 [0] n3:1:2 [0]".
Origin origin_of_nccl(View head) {
    for (std::size_t at = head.rfind(':'); at != View::npos && at > 0;
         at = head.rfind(':', at - 1)) {
        if (!is_process(head, at)) continue;
        std::size_t const before = head.find_last_not_of(kHostBytes, at - 1);
        std::size_t const first = before == View::npos ? 0 : before + 1;
        View const host = head.substr(first, at - first);
        View const process = head.substr(at + 1, digits_at(head, at + 1));
        if (!is_clock(host, process)) return {prefix_of(head.substr(0, first)), host, process};
    }
    return {prefix_of(head), {}, {}};
}

/// "May  1 10:00:00 n3 kernel: [12.3] NVRM: Xid ...": as syslog and journalctl write it.
Origin origin_of_kernel(View line) {
    std::size_t const at = line.find(" kernel:");
    if (at == View::npos) return {};
    auto const words = words_of(line.substr(0, at));
    bool const plain = !words.empty() && words.back().find_first_not_of(kHostBytes) == View::npos;
    return {"", plain ? words.back() : View(), {}};
}

bool is_lost_gpu(View line) {
    return line.find("NVRM: ") != View::npos && line.find("fallen off the bus") != View::npos;
}

/// Of a GPU that has fallen off the bus, the line before may name its address.
bool is_of_kernel(View line) {
    bool const is_xid = line.find("Xid (PCI:") != View::npos;  // SXid, too
    return is_xid || is_lost_gpu(line) || line.find("NVRM: The NVIDIA GPU ") != View::npos;
}

/// Programs and notes also mention NCCL: only these lines make a node of a text without hosts.
bool is_certain(View line) {
    for (View const each :
         {"NCCL INFO ", "NCCL WARN ", "NCCL version ", "RCCL version ",
          "Xid (PCI:", "Watchdog caught collective operation timeout: WorkNCCL",
          "watchdog thread terminated with exception", "NCCL communicator and retr"}) {
        if (line.find(each) != View::npos) return true;
    }
    return is_lost_gpu(line);
}

Origin origin_of(View line) {
    if (is_of_kernel(line)) return origin_of_kernel(line);
    std::size_t const at =
        std::min({line.find("NCCL "), line.find("NET/OFI"), line.find("RCCL version ")});
    return origin_of_nccl(line.substr(0, at));
}

/// Machines with the same name in NCCL's log: it cuts a name at its first dot, so that
/// "10.0.71.103" becomes "10", and containers may all be "localhost". They are distinguished by the
/// address on which a process meets the others.
class Namesakes {
public:
    void note(Origin const& origin, View line) {
        auto text = after(line, "Bootstrap : Using ");
        if (!text) text = after(line, "Bootstrap: Using ");
        if (!text || origin.host.empty()) return;
        if (text->starts_with("[0]")) text->remove_prefix(3);
        View const interface = until(*text, ":<");
        if (interface.size() == text->size() || interface == "lo") return;
        std::string const address(until(text->substr(interface.size() + 1), "<% "));
        if (!address.starts_with("fe80") && address.size() <= 64) {
            addresses_[Process(origin.host, origin.process)] = address;
            met_[Process(origin.host, interface)].insert(address);
        }
        if (met_[Process(origin.host, interface)].size() > 1) several_.emplace(origin.host);
    }

    [[nodiscard]] std::string name(Origin const& origin) const {
        std::string host(origin.host);
        auto const address = addresses_.find(Process(origin.host, origin.process));
        if (address == addresses_.end()) return host;
        if (address->second.starts_with(host + ".")) return address->second;
        return several_.contains(host) ? host + " (" + address->second + ")" : host;
    }

private:
    using Process = std::pair<std::string, std::string>;  // host, and its number or interface
    std::map<Process, std::string> addresses_;
    std::map<Process, std::set<std::string>> met_;
    std::set<std::string> several_;
};

class Cutter {
public:
    explicit Cutter(Namesakes const& namesakes) : namesakes_(namesakes) {}

    void take(std::string line) {
        Origin const origin = origin_of(line);
        certain_ = certain_ || is_certain(line);
        std::string host = namesakes_.name(origin);
        if (host.empty()) {
            host = host_before(origin.prefix);
        } else {
            last_ = by_prefix_[origin.prefix] = host;
        }
        if (host.empty()) {
            early_.emplace_back(origin.prefix, std::move(line));
        } else {
            add(host, line);
        }
    }

    std::map<std::string, std::string> finish() {
        if (!certain_) return {};
        std::string const first = parts_.size() == 1 ? parts_.begin()->first : first_;
        for (auto const& [prefix, line] : early_) {
            auto const same = by_prefix_.find(prefix);
            add(same == by_prefix_.end() ? first : same->second, line);
        }
        return std::move(parts_);
    }

private:
    static constexpr std::size_t kHostsMax = 1 << 16;

    [[nodiscard]] std::string host_before(std::string const& prefix) const {
        auto const same = by_prefix_.find(prefix);
        return same == by_prefix_.end() ? last_ : same->second;
    }

    void add(std::string const& host, View line) {
        if (parts_.size() >= kHostsMax && !parts_.contains(host)) return;
        if (first_.empty()) first_ = host;
        parts_[host].append(line) += '\n';
    }

    Namesakes const& namesakes_;
    std::map<std::string, std::string> parts_, by_prefix_;
    std::string first_, last_;
    bool certain_ = false;
    std::vector<std::pair<std::string, std::string>> early_;  // prefix and line
};

}  // namespace

std::string without_colours(View line) {
    if (line.starts_with('{')) return without_colours(unwrapped(line));
    std::string plain;
    plain.reserve(line.size());
    while (!line.empty()) {
        if (std::size_t const skipped = colour_bytes(line)) {
            line.remove_prefix(skipped);
            continue;
        }
        plain += line.front();
        line.remove_prefix(1);
    }
    while (plain.ends_with('\r')) plain.pop_back();
    return plain;
}

std::map<std::string, std::string> split_by_host(View text) {
    std::string const rewritten = with_last_errors(text);
    if (!rewritten.empty()) text = rewritten;
    Namesakes namesakes;
    each_line(text, [&](View line) {
        if (line.find("Bootstrap") == View::npos) return;
        std::string const plain = without_colours(line);
        if (is_of_nccl(plain)) namesakes.note(origin_of(plain), plain);
    });
    Cutter cutter(namesakes);
    each_line(text, [&](View line) {
        if (is_of_nccl(line) || is_of_kernel(line)) cutter.take(without_colours(line));
    });
    return cutter.finish();
}

}  // namespace osora::topology::doctor
