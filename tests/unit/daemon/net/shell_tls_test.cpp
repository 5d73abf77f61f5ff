// TLS between two ends of a socketpair on a real io_context; the openssl program checks
// fingerprints independently.
#include "base/files/files.hpp"
#include "base/process/process.hpp"
#include "daemon/net/controller_file.hpp"
#include "daemon/net/frame_connection.hpp"
#include "daemon/net/own_addresses.hpp"
#include "daemon/net/tls_stream.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>

#include <algorithm>
#include <array>
#include <csignal>
#include <fstream>

namespace osora::daemon {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;

class Tls : public testing::Test {
protected:
    Tls()
        : identity_(TlsIdentity::make().value()),
          tasks_(context_.get_executor(), [](std::string_view task, std::string_view what) {
              ADD_FAILURE() << task << ": " << what;
          }) {
        std::signal(SIGPIPE, SIG_IGN);  // like every program of osora that uses TLS
        std::array<int, 2> ends{};
        EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
        for (std::size_t i : {0u, 1u}) {
            sockets_.emplace_back(context_, asio::generic::stream_protocol(AF_UNIX, 0), ends[i]);
        }
    }
    std::unique_ptr<TlsStream> server() {
        return TlsStream::make(std::move(sockets_[0]), make_server_context(identity_).value())
            .value();
    }
    std::unique_ptr<TlsStream> client() {
        return TlsStream::make(std::move(sockets_[1]), make_client_context().value()).value();
    }
    void shake(TlsStream& stream, Result<void>& outcome,
               milliseconds limit = std::chrono::minutes(1)) {
        tasks_.spawn("handshake", shake_hands(stream, outcome, limit));
    }
    static asio::awaitable<void> shake_hands(TlsStream& stream, Result<void>& outcome,
                                             milliseconds limit) {
        outcome = co_await stream.handshake(limit);
    }
    void run_until_no_task() {
        while (!tasks_.running().empty()) ASSERT_EQ(context_.run_one(), 1u);
    }

    TlsIdentity identity_;
    asio::io_context context_{1};
    asio::executor_work_guard<asio::io_context::executor_type> work_ =
        asio::make_work_guard(context_);
    TaskGroup tasks_;
    std::vector<Stream::Socket> sockets_;
    Result<void> served_, joined_;
};

TEST_F(Tls, FramesOfAnySizeGoBothWaysAndTheCertificateIsSeen) {
    auto ours = server();
    auto theirs = client();
    shake(*ours, served_);
    shake(*theirs, joined_);
    run_until_no_task();
    ASSERT_TRUE(served_.has_value()) << served_.error().message;
    ASSERT_TRUE(joined_.has_value()) << joined_.error().message;
    EXPECT_EQ(theirs->peer_fingerprint(), identity_.fingerprint());
    EXPECT_EQ(ours->peer_fingerprint(), "");

    std::vector<std::string> heard, answered;
    auto left = std::make_shared<FrameConnection>(std::move(ours), tasks_, "left");
    auto right = std::make_shared<FrameConnection>(std::move(theirs), tasks_, "right");
    std::vector<Error> closed;
    left->start({.on_frame = [&](std::string frame) { heard.push_back(std::move(frame)); },
                 .on_closed = [&](Error const& why) { closed.push_back(why); }});
    right->start({.on_frame = [&](std::string frame) { answered.push_back(std::move(frame)); },
                  .on_closed = [](Error const&) {}});
    std::vector<std::string> sent;
    for (std::size_t const size : {1u, 100u, 16384u, 70000u, 1000000u, 3u}) {
        sent.emplace_back(size, static_cast<char>('a' + sent.size()));
        right->send(sent.back());
        left->send(sent.back());
    }
    while (heard.size() < sent.size() || answered.size() < sent.size()) context_.run_one();
    EXPECT_EQ(heard, sent);
    EXPECT_EQ(answered, sent);
    right->close("done");
    while (closed.empty()) context_.run_one();
    EXPECT_EQ(closed[0].code, Errc::unreachable);
    run_until_no_task();
}

TEST_F(Tls, APeerThatSpeaksSomethingElseIsRefused) {
    auto ours = server();
    shake(*ours, served_);
    ASSERT_GT(::send(sockets_[1].native_handle(), "GET / HTTP/1.1\r\n\r\n", 18, 0), 0);
    run_until_no_task();
    ASSERT_TRUE(served_.has_error());
    EXPECT_EQ(served_.error().code, Errc::io);
    EXPECT_THAT(served_.error().message, HasSubstr("TLS: "));
}

TEST_F(Tls, APeerThatClosesOrIsSilentEndsTheHandshake) {
    auto ours = server();
    shake(*ours, served_, milliseconds(20));
    run_until_no_task();
    ASSERT_TRUE(served_.has_error());
    EXPECT_EQ(served_.error().code, Errc::timed_out);
    auto theirs = client();
    ours.reset();
    shake(*theirs, joined_);
    run_until_no_task();
    ASSERT_TRUE(joined_.has_error());
    EXPECT_THAT(joined_.error().message, HasSubstr("TLS: "));
}

/// The answer of an independent program.
std::string openssl_fingerprint(std::filesystem::path const& folder) {
    auto const output = folder / "fingerprint";
    std::ofstream(output).flush();
    Descriptor const file(::open(output.c_str(), O_WRONLY | O_CLOEXEC));
    auto const child = spawn({.program = "/usr/bin/openssl",
                              .arguments = {"x509", "-in", (folder / "controller.pem").string(),
                                            "-noout", "-fingerprint", "-sha256"},
                              .environment = {},
                              .working_directory = "/",
                              .descriptors = {{file.get(), STDOUT_FILENO}}});
    if (child.has_error() || reap(*child).exit_code != 0) return "";
    std::string text = *read_file(output);
    text.erase(0, text.find('=') + 1);
    std::erase_if(text, [](char each) { return each == ':' || each == '\n'; });
    std::ranges::transform(text, text.begin(),
                           [](unsigned char each) { return std::tolower(each); });
    return text;
}

class Secrets : public testing::Test {
protected:
    void SetUp() override {
        std::string folder = testing::TempDir() + "osora-secrets-XXXXXX";
        ASSERT_NE(::mkdtemp(folder.data()), nullptr);
        paths_.dir = folder;
        file_.run_uuid = "u-1";
        file_.addresses = {"10.0.0.1"};
        file_.port = 4242;
        file_.token = "secret";
    }
    void TearDown() override { std::filesystem::remove_all(paths_.dir); }
    protocol::RunPaths paths_;
    protocol::ControllerFile file_;
};

TEST_F(Secrets, TheIdentityIsMadeOnceAndItsFingerprintIsWhatOthersSee) {
    auto const first = take_identity(paths_);
    ASSERT_TRUE(first.has_value()) << first.error().message;
    auto const second = take_identity(paths_);
    ASSERT_TRUE(second.has_value());
    EXPECT_EQ(first->fingerprint(), second->fingerprint());
    EXPECT_EQ(first->fingerprint().size(), 64u);
    EXPECT_NE(TlsIdentity::make()->fingerprint(), first->fingerprint());
    if (::access("/usr/bin/openssl", X_OK) == 0) {
        EXPECT_EQ(openssl_fingerprint(paths_.dir), first->fingerprint());
    }
}

TEST_F(Secrets, AnIdentityThatOthersCouldReadOrThatIsDamagedIsReplaced) {
    auto const first = take_identity(paths_)->fingerprint();
    ::chmod(paths_.controller_key().c_str(), 0644);
    auto const second = take_identity(paths_)->fingerprint();
    EXPECT_NE(first, second);
    std::ofstream(paths_.controller_key()) << "-----BEGIN ENCRYPTED PRIVATE KEY-----\nMIIB\n";
    EXPECT_NE(take_identity(paths_)->fingerprint(), second);
}

TEST_F(Secrets, ControllerJsonIsReadOnlyWhenItIsOursAndOfThisRun) {
    ASSERT_TRUE(write_controller_file(paths_, file_).has_value());
    auto const read = read_controller_file(paths_, "u-1");
    ASSERT_TRUE(read.has_value()) << read.error().message;
    EXPECT_EQ(read->port, 4242);
    EXPECT_EQ(read->token, "secret");
    EXPECT_EQ(read_controller_file(paths_, "u-2").error().code, Errc::invalid_input);
    ::chmod(paths_.controller_file().c_str(), 0640);
    EXPECT_THAT(read_controller_file(paths_, "u-1").error().message,
                HasSubstr("other users can open"));
    std::filesystem::remove(paths_.controller_file());
    EXPECT_EQ(read_controller_file(paths_, "u-1").error().code, Errc::not_found);
    std::filesystem::create_symlink("/dev/null", paths_.controller_file());
    EXPECT_TRUE(read_controller_file(paths_, "u-1").has_error());
}

TEST(OwnAddresses, TheDefaultRouteComesFirstAndBridgesLast) {
    std::vector<InterfaceAddress> const all{
        {"lo", "127.0.0.1", true},         {"docker0", "172.17.0.1"},
        {"eth0", "2001:db8::5"},           {"eth0", "10.0.0.5"},
        {"eth0", "fe80::1%eth0"},          {"ib0", "10.1.0.5"},
        {"eth9", "10.9.0.5", false, false}};
    EXPECT_THAT(order_addresses(all, "10.1.0.5"),
                ElementsAre("10.1.0.5", "10.0.0.5", "2001:db8::5", "172.17.0.1"));
    EXPECT_THAT(order_addresses({all[0]}, ""), ElementsAre("127.0.0.1"));
}

}  // namespace
}  // namespace osora::daemon
