// osora dashboard: a web page of the runs. Wires history, journals, router and sockets; needs no
// daemon and changes no run.
#include "base/files/files.hpp"
#include "base/host_name.hpp"
#include "base/http/http_server_internal.hpp"
#include "base/ids.hpp"
#include "base/process/capture.hpp"
#include "base/process/process.hpp"
#include "base/text/percent.hpp"
#include "base/text/text.hpp"
#include "cli/command/commands.hpp"
#include "cli/command/exit_code.hpp"
#include "cli/command/json_output.hpp"
#include "cli/command/print.hpp"
#include "cli/command/run_file_command.hpp"
#include "cli/command/signals.hpp"
#include "cli/dashboard/history_view.hpp"
#include "cli/dashboard/live_runs.hpp"
#include "cli/dashboard/router.hpp"

#include <fmt/format.h>
#include <unistd.h>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace osora::cli {
namespace {

namespace asio = boost::asio;

constexpr std::string_view kListenDefault = "127.0.0.1:8265";
constexpr std::size_t kTokenBytesMin = 16;
constexpr std::int64_t kTokenFileBytesMax = 4096;

struct DashboardOptions {
    std::filesystem::path state;
    ListenAddress listen;
    std::string token;  // empty: none is asked for
    bool is_new_token = false;
    bool open = false, json = false;
};

/// It travels in a URL, a cookie and a header: no character of it may need quoting there.
Result<std::string> token_in(std::filesystem::path const& file) {
    auto const text = read_file(file, kTokenFileBytesMax);
    if (text.has_error()) return Error(text.error()).in("--token-file");
    std::string token(trimmed(*text));
    if (token.size() < kTokenBytesMin) {
        return invalid(
            fmt::format("--token-file {}: the token has {} characters; at least {} are "
                        "needed (openssl rand -hex 32 makes one)",
                        file.string(), token.size(), kTokenBytesMin));
    }
    if (percent_encoded(token) != token) {
        return invalid(fmt::format("--token-file {}: the token may hold letters, digits and -_.~",
                                   file.string()));
    }
    return token;
}

Result<ListenAddress> listen_in(Arguments const& arguments) {
    auto const text = arguments.value("--listen").value_or(std::string(kListenDefault));
    auto const listen = parse_listen(text);
    if (listen.has_value()) return *listen;
    return invalid(
        fmt::format("--listen {}: {}; write it as 127.0.0.1:8265, [::1]:8265 or, with "
                    "--token-file, 0.0.0.0:8265",
                    text, listen.error().message));
}

Result<DashboardOptions> options_of(Context const& context, Arguments const& arguments) {
    DashboardOptions options;
    options.open = arguments.has("--open");
    options.json = arguments.has("--json");
    OSORA_TRY(options.state, state_dir(context.environment));
    OSORA_TRY(options.listen, listen_in(arguments));
    if (auto const file = arguments.value("--token-file")) {
        OSORA_TRY(options.token, token_in(*file));
    } else if (!options.listen.is_loopback()) {
        options.token = make_token();
        options.is_new_token = true;
    }
    if (options.open && !options.token.empty()) {
        return invalid(
            "--open: other users of this machine could read the token in the list of processes; "
            "open the printed address yourself");
    }
    return options;
}

/// An address that a browser can open: that of 0.0.0.0 is the machine's name.
std::string url_of(DashboardOptions const& options, int port) {
    auto shown = options.listen;
    shown.port = port;
    auto const place =
        shown.is_everywhere() ? fmt::format("{}:{}", host_name(), port) : shown.text();
    return "http://" + place + "/" + (options.is_new_token ? "?token=" + options.token : "");
}

/// The program that opens addresses; a browser that is not there is no reason to end.
void open_browser(Context const& context, std::string const& url) {
    auto const program = find_in_path("xdg-open", variable_or(context.environment, "PATH", ""));
    if (program.has_error()) {
        cli::print(stderr, "osora: --open: there is no xdg-open in PATH; open {} yourself\n", url);
        return;
    }
    auto const started = spawn({.program = *program,
                                .arguments = {url},
                                .environment = context.environment,
                                .death_signal = 0,
                                .new_session = true});
    if (started.has_error()) cli::print(stderr, "osora: --open: {}\n", started.error().message);
}

void say_where(DashboardOptions const& options, std::string const& url, int port) {
    if (options.json) {
        print_json("dashboard", {{"url", url},
                                 {"address", options.listen.address},
                                 {"port", port},
                                 {"token", !options.token.empty()},
                                 {"state_dir", options.state.string()}});
        return;
    }
    cli::print("{}\n", url);
    if (!options.token.empty() && !options.is_new_token) {
        cli::print("open it with ?token= and the token of --token-file\n");
    }
    cli::print("runs in {} · Ctrl-C ends it\n", options.state.string());
    std::fflush(stdout);
}

asio::awaitable<void> until_signal(SignalSource& signals, HttpServer& server, TaskGroup& tasks) {
    constexpr auto kTuple = asio::as_tuple(asio::use_awaitable);
    asio::posix::stream_descriptor source(tasks.executor(), ::dup(signals.descriptor()));
    bool ended = false;
    while (!ended) {
        co_await source.async_wait(asio::posix::stream_descriptor::wait_read, kTuple);
        for (int const signal : signals.take()) ended = ended || signal != SIGWINCH;
    }
    server.close();
    tasks.cancel();
}

int serve(Context const& context, DashboardOptions const& options) {
    asio::io_context loop(1);
    TaskGroup tasks(loop.get_executor(), [](std::string_view task, std::string_view what) {
        cli::print(stderr, "osora: {}: {}\n", task, what);
    });
    FreshHistory history(options.state);
    HistoryView view([&history](bool newest) { return history.get(newest); });
    LiveRuns live(options.state);
    auto rules = rules_for(options.listen, host_name());
    rules.token = options.token;
    HttpServer server(tasks,
                      {.answer = [&](auto const& asked) { return answer(asked, rules, view); },
                       .plain = plain_response,
                       .poll = [&live] { return live.poll(); },
                       .newest = [&live] { return live.newest(); }});
    auto signals = SignalSource::open();
    auto const listening = server.listen(options.listen, "--listen ");
    if (listening.has_error()) {
        return fail(listening.error());
    }
    rules.cookie = fmt::format("osora-{}", server.port());
    tasks.spawn("wait for Ctrl-C", until_signal(signals, server, tasks));
    auto const url = url_of(options, server.port());
    say_where(options, url, server.port());
    if (options.open) open_browser(context, url);
    loop.run();
    return kExitInterrupted;
}

int run_dashboard(Context const& context, Arguments const& arguments) {
    auto const options = options_of(context, arguments);
    if (options.has_error()) return fail(options.error());
    // What could never be shown is an error now, not on every page.
    auto const readable = open_history(options->state);
    if (readable.has_error()) return fail(readable.error());
    return serve(context, *options);
}

}  // namespace

CommandSpec dashboard_command() {
    return {.name = "dashboard",
            .summary = "a web page of all runs, with live figures",
            .details =
                "Serves pages until Ctrl-C: all runs with a filter, the report of each run and "
                "series, and live figures of runs in progress. It reads the history and the run "
                "directories, needs no daemon, and changes no run. The first line that it prints "
                "is the address.\n\n"
                "It listens on this machine only. From a laptop: ssh -L 8265:127.0.0.1:8265 HOST, "
                "then open http://127.0.0.1:8265/. On any other address a token is asked for: "
                "that of --token-file, or a new one in the printed address. The pages are not "
                "encrypted. Exit code 4 when it cannot listen, 130 after Ctrl-C.",
            .example = "osora dashboard\nosora dashboard --listen 127.0.0.1:0 --json",
            .positionals = {},
            .options = {{.name = "--listen",
                         .value = "ADDRESS:PORT",
                         .help = "Where to listen (127.0.0.1:8265); port 0: any free one."},
                        {.name = "--token-file",
                         .value = "FILE",
                         .help = "Ask browsers for the token in this file.",
                         .complete = Complete::file},
                        {.name = "--open", .value = "", .help = "Open the page in a browser."},
                        json_option("Print the address as JSON: osora.dashboard/1.")},
            .run = run_dashboard};
}

}  // namespace osora::cli
