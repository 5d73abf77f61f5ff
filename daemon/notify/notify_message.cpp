#include "daemon/notify/notify_message.hpp"

#include "base/text/printable.hpp"
#include "base/text/text.hpp"
#include "base/text/units.hpp"
#include "base/text/utf8.hpp"
#include "protocol/json.hpp"

#include <fmt/format.h>

#include <ctime>
#include <utility>

namespace osora::daemon {
namespace {

constexpr std::size_t kSubjectBytesMax = 180;
constexpr std::size_t kMailLineBytesMax = 900;  // RFC 5322 allows 998

std::string one_line(std::string_view text, std::size_t most = kNotifyTextBytesMax) {
    std::string line = printable(text);
    shorten_utf8(line, most);
    return line;
}

std::string occasion_name(Occasion occasion) {
    return boost::describe::enum_to_string(occasion, "?");
}

/// "2026-11-26T04:05:21Z"
std::string time_text(std::int64_t wall_us) {
    std::time_t const seconds = wall_us / 1'000'000;
    std::tm parts{};
    if (::gmtime_r(&seconds, &parts) == nullptr) return "?";
    std::string text(32, '\0');
    text.resize(std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts));
    return text;
}

std::string ascii(std::string text) {
    for (char& c : text) {
        if (c < ' ' || c > '~') c = '?';
    }
    return text;
}

std::string with_entities(std::string_view text) {
    std::string escaped;
    for (char const c : text) {
        if (c == '&') {
            escaped += "&amp;";
        } else if (c == '<') {
            escaped += "&lt;";
        } else if (c == '>') {
            escaped += "&gt;";
        } else {
            escaped += c;
        }
    }
    return escaped;
}

}  // namespace

std::string line_of(NotifyMessage const& message) {
    std::string text = fmt::format("osora: run {} ", message.name);
    if (message.occasion == Occasion::regression) {
        text += fmt::format("is slower than its series, {}", message.state);
    } else if (message.state == "relaunching") {
        text += "starts again from its last checkpoint";
    } else {
        text += message.state;
    }
    if (!message.id.empty()) text += fmt::format(" ({})", message.id);
    if (!message.reason.empty()) text += ": " + message.reason;
    if (message.occasion == Occasion::end) {
        text += fmt::format("{} {} in {}", message.reason.empty() ? ":" : ";",
                            counted(message.steps, "step"), format_seconds(message.elapsed_s));
    }
    return one_line(text);
}

std::string json_of(NotifyMessage const& message, bool text) {
    using protocol::json::value;
    protocol::json::object object{{"schema", "osora.notify/1"},
                                  {"occasion", occasion_name(message.occasion)},
                                  {"run", message.run},
                                  {"name", message.name},
                                  {"state", message.state}};
    if (message.exit_code) object["exit_code"] = *message.exit_code;
    object["verdict"] = message.verdict;
    std::string reason = message.reason;
    shorten_utf8(reason, kNotifyTextBytesMax);
    object["reason"] = reason;
    object["id"] = message.id;
    object["steps"] = message.steps;
    object["elapsed_s"] = protocol::to_json(message.elapsed_s);
    if (!message.series.empty()) object["series"] = message.series;
    object["host"] = message.host;
    object["time"] = time_text(message.wall_us);
    if (text) object["text"] = with_entities(line_of(message));
    return printable_json(protocol::json::serialize(object));
}

void add_variables(NotifyMessage const& message, Environment& environment) {
    auto const set = [&](std::string_view name, std::string_view value) {
        set_variable(environment, fmt::format("OSORA_NOTIFY_{}", name), one_line(value));
    };
    set("OCCASION", occasion_name(message.occasion));
    set("RUN", std::to_string(message.run));
    set("NAME", message.name);
    set("STATE", message.state);
    set("EXIT_CODE", message.exit_code ? std::to_string(*message.exit_code) : "");
    set("VERDICT", message.verdict);
    set("REASON", message.reason);
    set("ID", message.id);
    set("STEPS", std::to_string(message.steps));
    set("ELAPSED_S", fmt::format("{:.3f}", message.elapsed_s));
    set("SERIES", message.series);
    set("HOST", message.host);
    set("TIME", time_text(message.wall_us));
    set("TEXT", line_of(message));
}

std::string mail_of(NotifyMessage const& message, std::string_view to) {
    std::string subject = ascii(line_of(message));
    if (subject.size() > kSubjectBytesMax) subject.resize(kSubjectBytesMax);
    std::string mail = fmt::format(
        "To: {}\nSubject: {}\nAuto-Submitted: auto-generated\nMIME-Version: 1.0\n"
        "Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: 8bit\n\n",
        ascii(std::string(to)), subject);
    auto const add = [&](std::string_view name, std::string_view value) {
        if (!value.empty()) {
            mail += fmt::format("{:<9} {}\n", name, one_line(value, kMailLineBytesMax));
        }
    };
    mail += one_line(line_of(message), kMailLineBytesMax) + "\n\n";
    add("run", fmt::format("{} ({})", message.run, message.name));
    add("state", message.state);
    add("verdict", message.verdict);
    add("reason", message.reason);
    if (message.exit_code) add("exit code", std::to_string(*message.exit_code));
    add("steps", fmt::format("{} in {}", message.steps, format_seconds(message.elapsed_s)));
    add("series", message.series);
    add("host", message.host);
    add("time", time_text(message.wall_us));
    add("next", message.id.empty() ? fmt::format("osora report {}", message.run)
                                   : fmt::format("osora explain {}", message.id));
    return mail;
}

}  // namespace osora::daemon
