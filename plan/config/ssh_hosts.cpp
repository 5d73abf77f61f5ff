// Rejects names that could be taken for an option, or for more than one word: they appear in
// messages that users paste into a shell.
#include "plan/config/ssh_hosts.hpp"

#include "base/host_list.hpp"
#include "base/host_name.hpp"
#include "base/text/nearest.hpp"
#include "base/text/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace osora::plan {
namespace {

constexpr std::size_t kNameBytesMax = 255;
constexpr int kPortMax = 65535, kSlotsMax = 1024;
constexpr std::array<std::string_view, 3> kKeys{"slots", "port", "user"};
// Ports below this may be sshd's; other numbers are the slots of MPICH and Horovod.
constexpr std::array kLowPorts{22, 222, 443};
constexpr int kHighPort = 1024;

bool is_made_of(std::string_view text, std::string_view others) {
    return std::ranges::all_of(text, [others](char each) {
        auto const byte = static_cast<unsigned char>(each);
        return byte < 128 && (std::isalnum(byte) != 0 || others.find(each) != others.npos);
    });
}

/// The printable part of a text that is not a name.
std::string quoted(std::string_view text) {
    std::string shown;
    for (char const each : text.substr(0, 40)) shown += each >= ' ' && each <= '~' ? each : '?';
    return fmt::format("\"{}{}\"", shown, text.size() > 40 ? "..." : "");
}

Result<void> check_name(std::string_view what, std::string_view name, std::string_view others) {
    bool const good = !name.empty() && name.size() <= kNameBytesMax && name.front() != '-' &&
                      is_made_of(name, others);
    if (good) return {};
    return invalid(fmt::format("{} is no {} name", quoted(name), what));
}

Result<int> parse_number(std::string_view key, std::string_view text, int max) {
    int number = 0;
    auto const read = std::from_chars(text.data(), text.data() + text.size(), number);
    bool const whole = !text.empty() && read.ptr == text.data() + text.size();
    bool const too_large = read.ec == std::errc::result_out_of_range && whole;
    if (!whole || (read.ec != std::errc() && !too_large)) {
        return invalid(fmt::format("{}={}: expected a number", key, quoted(text)));
    }
    if (!too_large && number >= 1 && number <= max) return number;
    bool const low = text.front() == '-' || number < 1;
    bool const below = low && !(too_large && text.front() != '-');
    return invalid(
        fmt::format("{}={}: must be 1 to {}; nearest valid: {}", key, text, max, below ? 1 : max));
}

/// A name, or an IPv6 address: other text with a colon was written for another launcher.
Result<void> check_host(std::string_view name, std::string_view word) {
    if (name.find(',') != name.npos) {
        return invalid(fmt::format("{}: one host a line, as \"n1 slots=8\"", quoted(word)));
    }
    OSORA_TRY_VOID(check_name("host", name, ".-_:%"));
    std::string_view const address = name.substr(0, name.find('%'));
    bool const colon = address.find(':') != address.npos;
    bool const zone = address.size() < name.size();
    bool const six = address.find_first_not_of("0123456789abcdefABCDEF:.") == address.npos;
    if ((colon && !six) || (zone && !colon))
        return invalid(fmt::format("{} is no host name", quoted(name)));
    if (!colon && word.starts_with('[')) {
        return invalid(
            fmt::format("{}: brackets hold an IPv6 address; groups of hosts are not "
                        "known",
                        quoted(word)));
    }
    return {};
}

Result<void> take_place(std::string_view word, SshHost& host, bool& has_port) {
    std::string_view name = word, port;
    if (word.starts_with('[')) {
        std::size_t const end = word.find(']');
        if (end == word.npos) return invalid(fmt::format("{}: ']' is missing", quoted(word)));
        name = word.substr(1, end - 1);
        port = word.substr(end + 1);
        if (!port.empty() && port.front() != ':') {
            return invalid(fmt::format("{}: expected :PORT behind ']'", quoted(word)));
        }
    } else if (std::ranges::count(word, ':') == 1) {
        name = word.substr(0, word.find(':'));
        port = word.substr(word.find(':'));
    }
    OSORA_TRY_VOID(check_host(name, word));
    host.host = name;
    if (port.empty()) return {};
    has_port = true;
    OSORA_TRY(host.port, parse_number("port", port.substr(1), kPortMax));
    if (host.port >= kHighPort || std::ranges::count(kLowPorts, host.port) > 0) return {};
    return invalid(
        fmt::format("{0}: {1} is unlikely to be a port of sshd; for {1} slots, as MPICH and "
                    "Horovod write them, write "
                    "\"{2} slots={1}\", for that port \"{2} port={1}\"",
                    quoted(word), host.port, name));
}

/// Open MPI has several names for one setting; PBS writes np.
std::string_view known_key(std::string_view key) {
    if (key == "cpu" || key == "cpus" || key == "count" || key == "np") return "slots";
    if (key == "username" || key == "user_name" || key == "user-name") return "user";
    if (key == "max-slots") return "max_slots";
    return key;
}

Result<void> take_setting(std::string_view word, SshHost& host) {
    std::size_t const equals = word.find('=');
    std::string_view const key = known_key(word.substr(0, equals));
    if (whole_number<int>(word)) {
        return invalid(fmt::format("{0}: write slots={0}", word));
    }
    if (equals == word.npos) {
        return invalid(fmt::format("{}: expected slots=N, port=N or user=NAME", quoted(word)));
    }
    std::string_view const value = word.substr(equals + 1);
    if (key == "user") {
        OSORA_TRY_VOID(check_name("user", value, ".-_@+"));
        host.user = value;
        return {};
    }
    if (key == "max_slots") {
        OSORA_TRY_VOID(parse_number(key, value, kSlotsMax));
        return {};
    }
    if (key == "slots" || key == "port") {
        int const max = key == "slots" ? kSlotsMax : kPortMax;
        OSORA_TRY((key == "slots" ? host.slots : host.port), parse_number(key, value, max));
        return {};
    }
    if (key == "gpus" || key == "gpu" || key == "ngpus" || key == "ppn") {
        return invalid(fmt::format("unknown setting {}; write slots={}", quoted(key), value));
    }
    auto const near = nearest_name(key, kKeys);
    return invalid(fmt::format("unknown setting {}{}", quoted(key),
                               near ? fmt::format("; did you mean {}?", *near)
                                    : std::string("; known: slots, port, user")));
}

class Gathering {
public:
    explicit Gathering(std::string_view unit) : unit_(unit) {}

    /// "n[1-8] slots=8" is eight hosts.
    void add(int line, std::string_view entry) {
        auto const words = words_of(entry);
        std::string_view const place = words.empty() ? std::string_view() : words.front();
        std::size_t const open = place.find('[');
        if (open == place.npos || open == 0 || place[open - 1] == '@') return add_one(line, entry);
        auto const names = expand_host_list(place);
        if (names.has_error()) return complain(line, names.error().message);
        if (found_.hosts.size() + names->size() > kHostsMax) {
            return complain(line, fmt::format("more than {} hosts", kHostsMax));
        }
        std::string const rest(entry.substr(entry.find(place) + place.size()));
        std::size_t const before = found_.problems.size();
        for (auto const& each : *names) {
            add_one(line, each + rest);
            if (found_.problems.size() > before) return;
        }
    }
    [[nodiscard]] SshHosts result() && { return std::move(found_); }

private:
    void add_one(int line, std::string_view entry) {
        auto host = parse_ssh_host(entry);
        if (host.has_error()) return complain(line, std::move(host).error().message);
        host->line = line;
        bool const bare = unit_ == "line" && words_of(entry).size() == 1;
        auto const [at, fresh] =
            seen_.emplace(std::pair(lower(host->host), host->port), Seen{line, 1, bare});
        Seen& seen = at->second;
        if (fresh) return found_.hosts.push_back(std::move(*host));
        seen.bare = seen.bare && bare;
        if (++seen.times > 2 && seen.bare) return say_slots(seen, host->host);
        complain(line,
                 fmt::format("{} is given twice (also in {} {})", host->host, unit_, seen.line));
        seen.problem = found_.problems.size() - 1;
        if (seen.bare) say_slots(seen, host->host);
    }
    struct Seen {
        int line = 0, times = 0;
        bool bare = false;  // only the host: one line per slot, as PBS and MPI write it
        std::size_t problem = 0;
    };
    void say_slots(Seen const& seen, std::string const& host) {
        found_.problems[seen.problem].message = fmt::format(
            "{0} is given {1} times (also in {2} {3}); for {1} slots write \"{0} "
            "slots={1}\" once",
            host, seen.times, unit_, seen.line);
    }
    void complain(int line, std::string message) {
        found_.problems.push_back({line, std::move(message)});
    }

    std::string_view unit_;
    SshHosts found_;
    std::map<std::pair<std::string, int>, Seen> seen_;
};

}  // namespace

namespace {

/// Reads "slots = 2", which Open MPI accepts, as "slots=2".
std::string without_blanks_around_equals(std::string_view entry) {
    std::string joined;
    bool after_equals = false;
    for (char const each : entry) {
        bool const blank = each == ' ' || each == '\t';
        if (blank && after_equals) continue;
        if (each == '=') {
            while (joined.ends_with(' ') || joined.ends_with('\t')) joined.pop_back();
        }
        joined += each;
        after_equals = each == '=';
    }
    return joined;
}

}  // namespace

Result<SshHost> parse_ssh_host(std::string_view entry) {
    std::string const joined = without_blanks_around_equals(entry);
    auto const words = words_of(joined);
    if (words.empty()) return invalid("no host is named");
    SshHost host;
    std::set<std::string_view> given;
    std::string_view place = words.front();
    if (std::size_t const at = place.rfind('@'); at != place.npos) {
        OSORA_TRY_VOID(check_name("user", place.substr(0, at), ".-_@+"));
        host.user = place.substr(0, at);
        given.insert("user");
        place.remove_prefix(at + 1);
    }
    bool has_port = false;
    OSORA_TRY_VOID(take_place(place, host, has_port));
    if (has_port) given.insert("port");
    for (std::size_t i = 1; i < words.size(); ++i) {
        OSORA_TRY_VOID(take_setting(words[i], host));
        std::string_view const key = known_key(words[i].substr(0, words[i].find('=')));
        if (!given.insert(key).second) return invalid(fmt::format("{} is given twice", key));
    }
    return host;
}

SshHosts parse_host_file(std::string_view text) {
    Gathering gathering("line");
    if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);  // of an editor
    for (int line = 1; !text.empty(); ++line) {
        std::string_view entry = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(text.size(), entry.size() + 1));
        entry = entry.substr(0, entry.find('#'));
        if (!words_of(entry).empty()) gathering.add(line, entry);
    }
    return std::move(gathering).result();
}

SshHosts parse_host_list(std::vector<std::string> const& entries) {
    Gathering gathering("entry");
    int place = 0;
    for (std::string const& entry : entries) gathering.add(++place, entry);
    return std::move(gathering).result();
}

std::vector<SshHost> usable_hosts(std::vector<SshHost> hosts,
                                  std::vector<std::string> const& excluded) {
    std::erase_if(hosts,
                  [&excluded](SshHost const& host) { return names_host(excluded, host.host); });
    return hosts;
}

std::string to_entry(SshHost const& host) {
    bool const bare = host.host.find(':') == host.host.npos;
    std::string entry = bare ? host.host : fmt::format("[{}]", host.host);
    if (host.slots > 0) entry += fmt::format(" slots={}", host.slots);
    if (host.port != 22) entry += fmt::format(" port={}", host.port);
    if (!host.user.empty()) entry += fmt::format(" user={}", host.user);
    return entry;
}

}  // namespace osora::plan
