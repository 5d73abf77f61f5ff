// What osora dashboard answers, without sockets: requests in, responses out.
#include "cli/dashboard/router.hpp"

#include "base/http/event_queue.hpp"
#include "cli/dashboard/live_runs.hpp"
#include "tests/unit/cli/dashboard/router_kit.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

namespace osora::cli::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr char const* kScriptName = "<script>alert(1)</script>";
constexpr char const* kQuotes = "\"&'";

ReportPage titled(std::string title) {
    ReportPage page;
    page.words.title = std::move(title);
    return page;
}

/// `count` runs that ended, newest first; some of their names are hostile.
class FakeView final : public DashboardView {
public:
    explicit FakeView(int count) : count_(count) {}

    Result<RunList> runs(RunFilter const& filter) override {
        asked_ = filter;
        RunList list;
        list.total = count_;
        list.states = {"ended", kScriptName};
        list.series = {kQuotes};
        list.warnings = warnings_;
        for (int i = 0; i < kRunsPerPage && (filter.page - 1) * kRunsPerPage + i < count_; ++i) {
            list.rows.push_back(row());
        }
        return list;
    }
    Result<RunPage> run(std::string const& id) override {
        asked_.name = id;
        if (id != "7")
            return Error{Errc::not_found, "run " + id + ": no such run; did you mean 7?"};
        return RunPage{.report = titled(kScriptName), .row = row()};
    }
    Result<ReportPage> series(std::string const& name) override {
        if (name == "a/b") return titled("series a/b");
        return Error{Errc::not_found, name + ": no such series"};
    }

    Result<ReportPage> diff(std::string const& a, std::string const& b) override {
        if (b == "8") return Error{Errc::not_found, "run 8: no such run; did you mean 7?"};
        return titled(a + " with " + b);
    }

    bool live_ = false;
    std::vector<std::string> warnings_;
    RunFilter asked_;

private:
    RunRow row() const {
        return {.id = "7",
                .name = kScriptName,
                .series = kQuotes,
                .state = live_ ? "running" : "ended",
                .verdict = live_ ? "" : kScriptName,
                .over = !live_};
    }
    int count_;
};

WebResponse asked(WebRequest const& request, int runs = 3) {
    FakeView view(runs);
    return answer(request, rules(), view);
}

std::string header_of(WebResponse const& response, std::string const& name) {
    for (auto const& [key, value] : response.headers) {
        if (key == name) return value;
    }
    return {};
}

/// Every tag of the page with its attributes; text between tags is not in it.
std::string tags_of(std::string const& page) {
    static std::regex const kTag("<[a-z][^<>]*>");
    std::string tags;
    for (std::sregex_iterator at(page.begin(), page.end(), kTag), end; at != end; ++at) {
        tags += at->str() + "\n";
    }
    return tags;
}

std::size_t count_in(std::string const& text, std::string_view wanted) {
    std::size_t count = 0;
    for (auto at = text.find(wanted); at != text.npos; at = text.find(wanted, at + 1)) ++count;
    return count;
}

TEST(DashboardRouter, OnlyReads) {
    for (char const* method : {"POST", "PUT", "DELETE", "OPTIONS", "CONNECT", "get", ""}) {
        auto request = get("/");
        request.method = method;
        auto const response = asked(request);
        EXPECT_EQ(response.status, 405) << method;
        EXPECT_EQ(header_of(response, "Allow"), "GET, HEAD");
    }
    auto head = get("/");
    head.method = "HEAD";
    EXPECT_EQ(asked(head).status, 200);
}

TEST(DashboardRouter, RefusesNamesOfOthersAsHost) {
    for (char const* host : {"127.0.0.1:8265", "localhost:9000", "LOCALHOST", "[::1]:8265"}) {
        EXPECT_EQ(asked(get("/", host)).status, 200) << host;
    }
    for (char const* host :
         {"", "evil.example", "evil.example:8265", "127.0.0.1.evil.example", "localhost:", "[::1",
          "localhost:80:80", "localhost:70000", "login1.cluster", "10.0.0.1", "localhost@evil"}) {
        auto const response = asked(get("/", host));
        EXPECT_EQ(response.status, 403) << host;
        EXPECT_THAT(response.body, HasSubstr("is not a name of this server; use 127.0.0.1"));
    }
}

TEST(DashboardRouter, KnowsItsNamesOnOtherAddresses) {
    FakeView view(1);
    auto const everywhere = rules_for({"0.0.0.0", 8265}, "Login1.cluster");
    for (char const* host : {"login1.cluster:8265", "login1", "10.0.0.1:8265", "[fe80::1]"}) {
        EXPECT_EQ(answer(get("/", host), everywhere, view).status, 200) << host;
    }
    EXPECT_EQ(answer(get("/", "evil.example"), everywhere, view).status, 403);
    auto const one = rules_for({"10.0.0.1", 8265}, "login1");
    EXPECT_EQ(answer(get("/", "10.0.0.1:8265"), one, view).status, 200);
    EXPECT_EQ(answer(get("/", "10.0.0.2:8265"), one, view).status, 403);
}

TEST(DashboardRouter, RefusesPagesOfOtherSites) {
    auto request = get("/events");
    request.origin = "http://127.0.0.1:8265";
    EXPECT_TRUE(asked(request).is_events);
    for (char const* origin : {"null", "http://evil.example", "https://127.0.0.1:8265",
                               "http://127.0.0.1:8266", "http://localhost:8265"}) {
        request.origin = origin;
        EXPECT_EQ(asked(request).status, 403) << origin;
    }
}

TEST(DashboardRouter, EveryResponseHasTheGuards) {
    auto bad_host = get("/", "evil.example");
    for (auto const& request : {get("/"), get("/run/7"), get("/run/8"), get("/series/a%2Fb"),
                                get("/events"), get("/nothing"), get("%"), bad_host}) {
        auto const response = asked(request);
        EXPECT_EQ(header_of(response, "X-Content-Type-Options"), "nosniff") << request.target;
        EXPECT_EQ(header_of(response, "Referrer-Policy"), "no-referrer");
        EXPECT_EQ(header_of(response, "Cache-Control"), "no-store");
        auto const policy = header_of(response, "Content-Security-Policy");
        EXPECT_THAT(policy,
                    AllOf(StartsWith("default-src 'none'"), HasSubstr("frame-ancestors 'none'"),
                          Not(HasSubstr("script-src 'unsafe"))));
    }
    auto const policy = header_of(asked(get("/")), "Content-Security-Policy");
    EXPECT_THAT(policy, AllOf(HasSubstr("connect-src 'self'"), HasSubstr("form-action 'self'"),
                              // printf 'follow()' | openssl dgst -sha256 -binary | base64
                              HasSubstr("'sha256-57xvXWua1zw7tS+/+Q5Q8Oj8KU5rhokSNONyV9d3zrY='")));
    EXPECT_THAT(header_of(asked(get("/run/7")), "Content-Security-Policy"),
                Not(HasSubstr("connect-src")));
}

TEST(DashboardRouter, HostileNamesStayText) {
    FakeView view(3);
    view.warnings_ = {kScriptName};
    view.live_ = true;
    for (char const* target :
         {"/?name=%3Cscript%3Ealert(1)%3C/script%3E&series=%22%26%27", "/run/7",
          "/run/%3Cscript%3Ealert(1)%3C%2Fscript%3E", "/%3Cscript%3Ealert(1)",
          "/?page=%3Cscript%3E", "/series/%22%26%27%3Cscript%3E",
          "/diff?a=%3Cscript%3Ealert(1)%3C/script%3E&b=%22"}) {
        auto const response = answer(get(target), rules(), view);
        // Only the program's own script, and none of the name.
        EXPECT_LE(count_in(response.body, "<script"), 1u) << target;
        EXPECT_THAT(response.body, Not(HasSubstr("alert(1)</script"))) << target;
        EXPECT_EQ(response.type.starts_with("text/html"), response.status != 403);
    }
    auto const page = answer(get("/"), rules(), view).body;
    EXPECT_THAT(page, HasSubstr("&lt;script&gt;alert(1)&lt;/script&gt;</a>"));
    EXPECT_THAT(page, HasSubstr(">&quot;&amp;&#39;</a>"));
    EXPECT_THAT(tags_of(page), HasSubstr("<a href=\"/series/%22%26%27\">"));
}

TEST(DashboardRouter, PagesRunsAndKeepsTheFilter) {
    FakeView view(250);
    auto const second = answer(get("/?page=2&name=a%20%26b&state=ok"), rules(), view);
    EXPECT_EQ(view.asked_.page, 2);
    EXPECT_EQ(view.asked_.name, "a &b");
    EXPECT_EQ(view.asked_.state, "ok");
    EXPECT_EQ(count_in(second.body, "<tr data-run="), 100u);
    EXPECT_THAT(second.body, HasSubstr("page 2 of 3"));
    for (char const* other :
         {"/?page=1&amp;name=a%20%26b&amp;state=ok", "/?page=3&amp;name=a%20%26b&amp;state=ok"}) {
        EXPECT_THAT(second.body, HasSubstr(other));
    }
    EXPECT_EQ(count_in(answer(get("/?page=3"), rules(), view).body, "<tr data-run="), 50u);
    auto const beyond = answer(get("/?page=4"), rules(), view);
    EXPECT_EQ(beyond.status, 404);
    EXPECT_THAT(beyond.body, HasSubstr("page 4: there are 3 pages"));
}

TEST(DashboardRouter, SaysWhatIsWrongWithAQuery) {
    for (auto const& [target, why] : std::vector<std::pair<std::string, std::string>>{
             {"/?page=0", "page=0: must be a number from 1 on"},
             {"/?page=99999999999999999999", "must be a number from 1 on"},
             {"/?page=", "page=: must be a number from 1 on"},
             {"/?nmae=x", "nmae: no such filter; did you mean name?"},
             {"/?name=a&name=b", "name is given twice"},
             {"/?name=%4", "'%' without two hexadecimal digits"},
             {"http://127.0.0.1/", "the address must begin with a slash"},
             {"", "the address must begin with a slash"}}) {
        auto const response = asked(get(target));
        EXPECT_EQ(response.status, 400) << target;
        EXPECT_THAT(response.body, HasSubstr(why));
    }
}

TEST(DashboardRouter, MissingPagesNameTheNearest) {
    auto const run = asked(get("/run/8"));
    EXPECT_EQ(run.status, 404);
    EXPECT_THAT(run.body, AllOf(HasSubstr("run 8: no such run; did you mean 7?"),
                                HasSubstr("<a href=\"/run/7\">7</a>")));
    EXPECT_THAT(asked(get("/rnu/7")).body, HasSubstr("did you mean /run?"));
    for (char const* target : {"/run", "/run/7/8", "/run/../../etc/passwd", "/../state", "//"}) {
        EXPECT_EQ(asked(get(target)).status, 404) << target;
    }
    FakeView view(1);
    EXPECT_EQ(answer(get("/run/..%2F..%2Fetc%2Fpasswd"), rules(), view).status, 404);
    EXPECT_EQ(view.asked_.name, "../../etc/passwd");
    EXPECT_EQ(asked(get("/series/a%2Fb")).status, 200);
}

TEST(DashboardRouter, ComparesTwoRuns) {
    EXPECT_THAT(asked(get("/")).body, HasSubstr("<form action=\"/diff\" method=\"get\">"));
    EXPECT_THAT(asked(get("/"), 1).body, Not(HasSubstr("/diff")));
    EXPECT_THAT(asked(get("/diff?a=7&b=41,43")).body, HasSubstr("<h1>7 with 41,43</h1>"));
    auto const missing = asked(get("/diff?a=7&b=8"));
    EXPECT_EQ(missing.status, 404);
    EXPECT_THAT(missing.body, HasSubstr("<a href=\"/run/7\">7</a>"));
    for (char const* target : {"/diff", "/diff?a=7", "/diff?a=7&b=", "/diff?a=7&b=8&c=9"}) {
        auto const response = asked(get(target));
        EXPECT_EQ(response.status, 400) << target;
        EXPECT_THAT(response.body, HasSubstr("two runs are compared: /diff?a=41&amp;b=42"));
    }
    EXPECT_THAT(asked(get("/dif")).body, HasSubstr("did you mean /diff?"));
}

TEST(DashboardRouter, ATokenOpensEveryPage) {
    FakeView view(1);
    auto guarded = rules();
    guarded.token = "0123456789abcdef";
    guarded.cookie = "osora-8265";
    for (char const* target : {"/", "/run/7", "/events", "/?token=0123456789abcdeX", "/?token="}) {
        auto const response = answer(get(target), guarded, view);
        EXPECT_EQ(response.status, 401) << target;
        EXPECT_THAT(response.body, Not(HasSubstr("abcdef")));
    }
    auto const opened = answer(get("/run/7?token=0123456789abcdef"), guarded, view);
    EXPECT_EQ(opened.status, 303);
    EXPECT_EQ(header_of(opened, "Location"), "/run/7");
    EXPECT_EQ(header_of(opened, "Set-Cookie"),
              "osora-8265=0123456789abcdef; Path=/; HttpOnly; SameSite=Strict");
    auto request = get("/run/7");
    request.cookie = "x=1; osora-8265=0123456789abcdef";
    EXPECT_EQ(answer(request, guarded, view).status, 200);
    request.cookie = "osora-8266=0123456789abcdef";
    EXPECT_EQ(answer(request, guarded, view).status, 401);
    request.authorization = "Bearer 0123456789abcdef";
    EXPECT_EQ(answer(request, guarded, view).status, 200);
    request.host = "evil.example";
    EXPECT_EQ(answer(request, guarded, view).status, 403);
}

TEST(DashboardRouter, OnlyARunInProgressFetches) {
    FakeView view(1);
    auto const over = answer(get("/run/7"), rules(), view).body;
    EXPECT_THAT(over, AllOf(HasSubstr("this page is complete: it fetches nothing"),
                            Not(HasSubstr("follow()"))));
    view.live_ = true;
    auto const live = answer(get("/run/7"), rules(), view).body;
    EXPECT_THAT(live, AllOf(HasSubstr("<section class=\"now\" id=\"now\" data-run=\"7\""),
                            HasSubstr("<script>follow()</script>"),
                            HasSubstr("Without JavaScript the figures stay as they are")));
}

TEST(DashboardEvents, AReaderMayBeBehindByAtMost64KiB) {
    EventQueue queue;
    std::string const event(1000, 'x');
    int taken = 0;
    while (queue.push(event)) ++taken;
    EXPECT_EQ(taken, 65);
    EXPECT_EQ(queue.take().size(), 65'000u);
    EXPECT_TRUE(queue.is_empty());
    EXPECT_FALSE(queue.push(event)) << "what is being sent counts";
    queue.sent();
    EXPECT_TRUE(queue.push(event));
}

TEST(DashboardEvents, AreOneLineOfJson) {
    protocol::RunView view;
    view.steps_done = 20;
    view.steps = 400;
    view.step_time_s = 0.5;
    view.exposed_comm_share = NAN;
    auto const event = run_event("7", "running", view, "a\nb\r\xFF</script>");
    ASSERT_THAT(event, StartsWith("event: run\ndata: {"));
    ASSERT_TRUE(event.ends_with("}\n\n"));
    auto const text = event.substr(17, event.size() - 19);
    EXPECT_THAT(text, Not(HasSubstr("\n")));
    auto const data = protocol::parse_json(text).value();
    EXPECT_EQ(data.at("id"), "7");
    EXPECT_EQ(data.at("step"), 20);
    EXPECT_EQ(data.at("steps"), 400);
    EXPECT_EQ(data.at("step_time_s"), 0.5);
    EXPECT_TRUE(data.at("exposed").is_null());
    EXPECT_EQ(data.at("last_event"), "a\uFFFDb\uFFFD\uFFFD</script>");
}

TEST(DashboardListen, TakesAddressesAndPorts) {
    EXPECT_EQ(parse_listen("127.0.0.1:0")->port, 0);
    EXPECT_EQ(parse_listen("localhost:80")->address, "127.0.0.1");
    EXPECT_EQ(parse_listen(":80")->address, "127.0.0.1");
    EXPECT_EQ(parse_listen("[::1]:8265")->text(), "[::1]:8265");
    EXPECT_TRUE(parse_listen("127.1.2.3:1")->is_loopback());
    EXPECT_FALSE(parse_listen("0.0.0.0:1")->is_loopback());
    for (auto const& [text, why] : std::vector<std::pair<std::string, std::string>>{
             {"", "the port is missing"},
             {"8265", "the port is missing"},
             {"127.0.0.1:", "the port must be 0"},
             {"127.0.0.1:65536", "the port must be 0"},
             {"127.0.0.1:-1", "the port must be 0"},
             {"::1:80", "an IPv6 address needs brackets"},
             {"login1:80", "login1 is not an IP address"},
             {"127.0.0:80", "127.0.0 is not an IP address"}}) {
        auto const parsed = parse_listen(text);
        ASSERT_TRUE(parsed.has_error()) << text;
        EXPECT_THAT(parsed.error().message, HasSubstr(why)) << text;
    }
}

}  // namespace
}  // namespace osora::cli::test
