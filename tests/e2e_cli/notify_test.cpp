// [notify] of the run file: who gets a message, and what remains in the records.
#include "base/files/files.hpp"
#include "protocol/json.hpp"
#include "tests/e2e_cli/cli_fixture.hpp"

#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace osora::e2e_cli {
namespace {

using testing::HasSubstr;
using testing::Not;

/// Writes its port, then a line of JSON for each request; answers with the status of its argument.
constexpr char const* kServer = R"(
import http.server, json, sys
status, port, posts = int(sys.argv[1]), sys.argv[2], sys.argv[3]
class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        with open(posts, "a") as log:
            log.write(json.dumps({"path": self.path, "type": self.headers["Content-Type"],
                                  "auth": self.headers.get("Authorization", ""),
                                  "body": json.loads(body)}) + "\n")
        self.send_response(status)
        self.send_header("Location", "/elsewhere")
        self.send_header("Content-Length", "0")
        self.end_headers()
    do_GET = do_POST
server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
if len(sys.argv) > 4:
    import ssl
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[4])
    server.socket = context.wrap_socket(server.socket, server_side=True)
with open(port + ".new", "w") as file:
    file.write(str(server.server_port))
import os
os.rename(port + ".new", port)
server.serve_forever()
)";

class Notify : public Cli {
protected:
    Running serve(int status, std::vector<std::string> const& more = {}) {
        std::vector<std::string> arguments{"python3",
                                           "-c",
                                           kServer,
                                           std::to_string(status),
                                           (folder_ / "port").string(),
                                           (folder_ / "posts").string()};
        arguments.insert(arguments.end(), more.begin(), more.end());
        auto server = tests::start_program({.program = "/usr/bin/env",
                                            .arguments = std::move(arguments),
                                            .environment = environment_},
                                           folder_ / "server");
        EXPECT_TRUE(server.has_value()) << server.error().message;
        EXPECT_TRUE(eventually([&] { return !port().empty(); }))
            << content_of(folder_ / "server.err");
        return std::move(*server);
    }
    [[nodiscard]] std::string port() const { return content_of(folder_ / "port"); }
    [[nodiscard]] std::vector<protocol::json::object> posts() const {
        std::vector<protocol::json::object> posts;
        for (auto const& line : lines_of(content_of(folder_ / "posts"))) {
            auto const value = protocol::parse_json(line);
            EXPECT_TRUE(value.has_value()) << line;
            if (value.has_value()) posts.push_back(value->as_object());
        }
        return posts;
    }
    /// A program that keeps its stdin, its arguments and its variables.
    void recorder(std::string const& name) {
        write(name, fmt::format("#!/bin/sh\ncd \"$(dirname \"$0\")\"\necho \"$@\" >{0}.args\n"
                                "env >{0}.env\ncat >{0}.in\n",
                                name));
        std::filesystem::permissions(folder_ / name, std::filesystem::perms::owner_all);
    }
    [[nodiscard]] std::vector<std::string> details(std::string const& kind) const {
        std::vector<std::string> details;
        for (auto const& notice : run().events<protocol::RunNotice>()) {
            if (notice.kind == kind) details.push_back(notice.detail);
        }
        return details;
    }
};

TEST_F(Notify, AWebhookGetsOnePostAndRecordsKeepItsSecret) {
    auto server = serve(200);
    write_run_file(20, fmt::format("[notify]\nwebhook = \"http://ada:pa55@127.0.0.1:{}/hook/"
                                   "T0s3cret?key=s3cret\"\n",
                                   port()));
    auto const ended = osora({"submit", "run.toml"});
    EXPECT_EQ(ended.code, 0) << ended.err;
    auto const shown = fmt::format("webhook http://127.0.0.1:{}/...", port());
    EXPECT_THAT(details("notification"), testing::ElementsAre("notification sent: end: " + shown));
    EXPECT_THAT(ended.out, HasSubstr("notification sent: end: " + shown));
    ASSERT_EQ(posts().size(), 1u);
    auto const post = posts().front();
    EXPECT_EQ(post.at("path"), "/hook/T0s3cret?key=s3cret");
    EXPECT_EQ(post.at("type"), "application/json");
    EXPECT_EQ(post.at("auth"), "Basic YWRhOnBhNTU=");  // printf ada:pa55 | base64
    auto const& body = post.at("body").as_object();
    EXPECT_EQ(body.at("schema"), "osora.notify/1");
    EXPECT_EQ(body.at("occasion"), "end");
    EXPECT_EQ(body.at("run"), 1);
    EXPECT_EQ(body.at("name"), "demo-0001");
    EXPECT_EQ(body.at("state"), "done");
    EXPECT_EQ(body.at("exit_code"), 0);
    EXPECT_EQ(body.at("steps"), 20);
    EXPECT_EQ(body.at("series"), "demo");
    EXPECT_THAT(std::string(body.at("text").as_string()),
                HasSubstr("run demo-0001 done: 20 steps"));
    for (auto const& text :
         {content_of(run_dir("demo-0001") / "journal"), ended.out, ended.err,
          content_of(run_dir("demo-0001") / "controller.log"),
          content_of(run_dir("demo-0001") / "submission.json"),
          osora({"config", "show", "run.toml"}).out, osora({"report", "1"}).out}) {
        EXPECT_THAT(text, Not(HasSubstr("s3cret")));
        EXPECT_THAT(text, Not(HasSubstr("pa55")));
    }
    EXPECT_THAT(osora({"report", "1"}).out, HasSubstr("notification sent"));
}

TEST_F(Notify, AFailedRunTellsItsCauseToACommandAndByMail) {
    recorder("sendmail");
    set_variable(environment_, "PATH",
                 folder_.string() + ":" + variable_or(environment_, "PATH", ""));
    write_run_file(20,
                   "[worker]\nenv = { OSORA_MOCK_FAIL = \"0:3:14\" }\n"
                   "[notify]\ncommand = [\"./hook\", \"a b\", \"$HOME;'\"]\nmail = "
                   "\"ada@example.org\"\n");
    recorder("hook");
    auto const ended = osora({"submit", "run.toml"});
    EXPECT_EQ(ended.code, 1) << ended.err;
    EXPECT_THAT(details("notification"),
                testing::UnorderedElementsAre("notification sent: failure: command ./hook",
                                              "notification sent: failure: mail to "
                                              "ada@example.org"));
    auto const message = protocol::parse_json(content_of(folder_ / "hook.in"));
    ASSERT_TRUE(message.has_value()) << content_of(folder_ / "hook.in");
    EXPECT_EQ(message->at("state"), "failed");
    EXPECT_EQ(message->at("id"), "E-configuration");
    EXPECT_EQ(message->at("exit_code"), 1);
    EXPECT_EQ(content_of(folder_ / "hook.args"), "a b $HOME;'\n");
    EXPECT_THAT(content_of(folder_ / "hook.env"), HasSubstr("OSORA_NOTIFY_ID=E-configuration\n"));
    EXPECT_EQ(content_of(folder_ / "sendmail.args"), "-t -i\n");
    auto const mail = content_of(folder_ / "sendmail.in");
    EXPECT_THAT(mail, testing::StartsWith("To: ada@example.org\nSubject: osora: run demo-0001 "
                                          "failed (E-configuration): "));
}

TEST_F(Notify, WhatFailsOrHangsIsRecordedAndTheRunEndsWell) {
    // A port that nobody listens on: bound, but not listening.
    int const closed = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ASSERT_EQ(::bind(closed, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    socklen_t size = sizeof address;
    ASSERT_EQ(::getsockname(closed, reinterpret_cast<sockaddr*>(&address), &size), 0);
    int const port = ntohs(address.sin_port);
    write_run_file(20, fmt::format("[notify]\nwebhook = \"http://127.0.0.1:{}/hook\"\n"
                                   "command = [\"sh\", \"-c\", \"sleep 1000 & sleep 1000\"]\n",
                                   port));
    auto const ended = osora({"submit", "run.toml"});
    ::close(closed);
    EXPECT_EQ(ended.code, 0) << ended.err;
    auto const refused = fmt::format(
        "notification failed: webhook http://127.0.0.1:{}/...: connection refused", port);
    auto const killed = "notification failed: command sh: killed: not done within 10 s";
    EXPECT_THAT(details("notification_failed"), testing::UnorderedElementsAre(refused, killed));
    EXPECT_THAT(ended.out, HasSubstr(refused));
    EXPECT_THAT(osora({"report", "1"}).out,
                HasSubstr("notification_failed x 2: notification failed: webhook"));
    EXPECT_THAT(osora({"status", "1"}).out, HasSubstr(refused));
    EXPECT_THAT(osora({"logs", "1"}).err, HasSubstr(refused));
    EXPECT_TRUE(all_gone("demo-0001"));
}

TEST_F(Notify, ARedirectIsNoSuccess) {
    auto server = serve(302);
    write_run_file(20, fmt::format("[notify]\nwebhook = \"http://127.0.0.1:{}/hook\"\n", port()));
    EXPECT_EQ(osora({"submit", "run.toml"}).code, 0);
    EXPECT_EQ(posts().size(), 1u);
    EXPECT_THAT(
        details("notification_failed"),
        testing::ElementsAre(HasSubstr(": answered 302 Found; redirects are not followed")));
}

TEST_F(Notify, HttpsNeedsACertificateThatTheSystemTrusts) {
    auto made = tests::start_program(
        {.program = "/usr/bin/env",
         .arguments = {"openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                       "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", "server.pem", "-out",
                       "certificate.pem", "-days", "2", "-subj", "/CN=localhost", "-addext",
                       "subjectAltName=DNS:localhost"},
         .environment = environment_,
         .working_directory = folder_},
        folder_ / "openssl");
    ASSERT_TRUE(made.has_value()) << made.error().message;
    if (made->wait().code != 0) GTEST_SKIP() << "no openssl that makes a certificate";
    auto const certificate = folder_ / "certificate.pem";
    write("server.pem", content_of(folder_ / "server.pem") + content_of(certificate));
    auto server = serve(204, {(folder_ / "server.pem").string()});
    write_run_file(20, fmt::format("[notify]\nwebhook = \"https://localhost:{}/hook\"\n", port()));
    EXPECT_EQ(osora({"submit", "run.toml"}).code, 0);
    EXPECT_THAT(details("notification_failed"),
                testing::ElementsAre(HasSubstr("/...: TLS: certificate verify failed")));
    EXPECT_TRUE(posts().empty());
    set_variable(environment_, "SSL_CERT_FILE", certificate.string());
    EXPECT_EQ(osora({"submit", "run.toml"}).code, 0);
    EXPECT_EQ(posts().size(), 1u);
}

TEST_F(Notify, ARestartCausesAMessageWhoseProgramIsLeftAlone) {
    write_run_file(20,
                   "[worker]\nenv = { OSORA_MOCK_KILL = \"1:12@0\" }\n[notify]\non = "
                   "[\"failure\"]\ncommand = [\"sh\", \"-c\", \"cat >>new; sleep 0.3; "
                   "mv new restarted.json\"]\n");
    auto const ended = osora({"submit", "run.toml"});
    EXPECT_EQ(ended.code, 0) << ended.err;
    EXPECT_THAT(details("notification"),
                testing::ElementsAre("notification sent: failure: command sh"));
    auto const message = protocol::parse_json(content_of(folder_ / "restarted.json"));
    ASSERT_TRUE(message.has_value()) << content_of(folder_ / "restarted.json");
    EXPECT_EQ(message->at("state"), "relaunching");
    EXPECT_FALSE(message->as_object().contains("exit_code"));
    EXPECT_THAT(std::string(message->at("reason").as_string()), HasSubstr("killed by signal 9"));
}

TEST_F(Notify, ASlowRunOfASeriesIsARegression) {
    script_times();
    auto const submit = [&](std::string const& step_s) {
        write_run_file(20, fmt::format("[worker.env]\nOSORA_MOCK_STEP_S = \"{}\"\n[notify]\n"
                                       "on = [\"regression\"]\ncommand = [\"sh\", \"-c\", "
                                       "\"cat >>slow.json\"]\n",
                                       step_s));
        EXPECT_EQ(osora({"submit", "run.toml"}).code, 0);
    };
    for (int i = 0; i < 6; ++i) submit("0.01");
    EXPECT_EQ(content_of(folder_ / "slow.json"), "");
    submit("0.03");
    auto const message = protocol::parse_json(content_of(folder_ / "slow.json"));
    ASSERT_TRUE(message.has_value()) << content_of(folder_ / "slow.json");
    EXPECT_EQ(message->at("occasion"), "regression");
    EXPECT_EQ(message->at("name"), "demo-0007");
    EXPECT_EQ(message->at("state"), "suspected");
    EXPECT_THAT(std::string(message->at("reason").as_string()),
                HasSubstr("200.0 % over the median of 6 runs"));
}

TEST_F(Notify, BadReceiversAreRefusedBeforeTheRun) {
    write_run_file(20, "[notify]\non = [\"ends\"]\nwebhook = \"chat.example/s3cret\"\n");
    auto const refused = osora({"validate", "run.toml"});
    EXPECT_EQ(refused.code, 2);
    EXPECT_THAT(refused.out, HasSubstr("did you mean end?"));
    write_run_file(20, "[notify]\nwebhook = \"chat.example/s3cret\"\nmail = \"ada\"\n");
    auto const both = osora({"validate", "run.toml"});
    EXPECT_EQ(both.code, 2);
    EXPECT_THAT(both.out, testing::ContainsRegex("run.toml:[0-9]+: notify.webhook: must begin"));
    EXPECT_THAT(both.out, HasSubstr("notify.mail = \"ada\": must be one address"));
    EXPECT_THAT(both.out, Not(HasSubstr("s3cret")));
    write_run_file(20, "[notify]\nwebhook = \"https://chat.example:443/...\"\n");
    auto const masked = osora({"submit", "run.toml"});
    EXPECT_EQ(masked.code, 2);
    EXPECT_THAT(masked.err, HasSubstr("notify.webhook: records show it without its secret"));
}

}  // namespace
}  // namespace osora::e2e_cli
