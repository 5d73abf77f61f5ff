#include "plan/config/receivers.hpp"

#include "plan/config/cross_checks.hpp"
#include "plan/config/notify_checks.hpp"
#include "resolve.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace osora::plan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string fault_of(std::string_view url) {
    auto const webhook = parse_webhook(url);
    return webhook.has_value() ? "" : webhook.error().message;
}

TEST(Receivers, PartsOfAUrl) {
    auto const plain = parse_webhook("http://chat.example");
    ASSERT_TRUE(plain.has_value());
    EXPECT_FALSE(plain->tls);
    EXPECT_EQ(plain->host, "chat.example");
    EXPECT_EQ(plain->port, 80);
    EXPECT_EQ(plain->target, "/");
    EXPECT_EQ(plain->user_info, "");
    auto const full = parse_webhook("HTTPS://ada:p%40ss@[::1]:8443/hook/T0?key=a:b@c");
    ASSERT_TRUE(full.has_value());
    EXPECT_TRUE(full->tls);
    EXPECT_EQ(full->host, "::1");
    EXPECT_EQ(full->port, 8443);
    EXPECT_EQ(full->target, "/hook/T0?key=a:b@c");
    EXPECT_EQ(full->user_info, "ada:p@ss");
    auto const query = parse_webhook("https://chat.example?key=1");
    ASSERT_TRUE(query.has_value());
    EXPECT_EQ(query->port, 443);
    EXPECT_EQ(query->target, "/?key=1");
}

TEST(Receivers, FaultsOfAUrlDoNotShowIt) {
    for (std::string_view const bad :
         {"ftp://s3cret", "s3cret", "http://", "http://:80/s3cret", "http://s3cret host/",
          "http://a\r\nX-s3cret: 1/", "http://[::1/s3cret", "http://[s3cret]/", "http://a:0/s3cret",
          "http://a:65536/s3cret", "http://a:8x/s3cret", "http://a/s3cret#top",
          "http://a%b@c/s3cret", "http://a\xc3\xa9/s3cret", "http://a\"b/s3cret"}) {
        EXPECT_NE(fault_of(bad), "") << bad;
        EXPECT_THAT(fault_of(bad), testing::Not(HasSubstr("s3cret"))) << bad;
    }
    EXPECT_EQ(fault_of("http://a:70000/"),
              "port 70000 is not between 1 and 65535; nearest valid: 65535");
    EXPECT_EQ(fault_of("http://a/" + std::string(kWebhookBytesMax, 'x')),
              "has 2057 bytes; at most 2048");
}

TEST(Receivers, RecordsShowNoSecret) {
    EXPECT_EQ(masked_webhook("https://ada:pw@chat.example/services/T0/B0?key=1"),
              "https://chat.example:443/...");
    EXPECT_EQ(masked_webhook("http://[::1]:8080"), "http://[::1]:8080/...");
    EXPECT_EQ(masked_webhook("no url"), "[redacted]");
    EXPECT_EQ(masked_webhook(""), "");
    EXPECT_TRUE(is_masked_webhook(masked_webhook("http://a/b")));
    EXPECT_TRUE(is_masked_webhook("[redacted]"));
    EXPECT_FALSE(is_masked_webhook("http://a/b"));
    EXPECT_FALSE(is_masked_webhook(""));
    EXPECT_EQ(masked_webhook(masked_webhook("http://a/b")), masked_webhook("http://a/b"));
}

TEST(Receivers, OneMailAddress) {
    for (std::string_view const good : {"ada@example.org", "a+b.c@localhost", "a@b"}) {
        EXPECT_TRUE(check_mail_address(good).has_value()) << good;
    }
    for (std::string_view const bad : {"", "ada", "@b", "a@", "a@b@c", "a@b,c@d", "a@b c",
                                       "a@b\nBcc: c@d", "<a@b>", "-t@b", "a@\xc3\xa9"}) {
        EXPECT_TRUE(check_mail_address(bad).has_error()) << bad;
    }
    EXPECT_TRUE(check_mail_address("a@" + std::string(300, 'b')).has_error());
}

TEST(NotifyChecks, FaultsHaveTheirLine) {
    EXPECT_THAT(problems_of("notify.webhook = \"chat.example/s3cret\""),
                ElementsAre("run.toml:1: notify.webhook: must begin with http:// or https://, as "
                            "in http://chat.example/hook"));
    EXPECT_THAT(problems_of("notify.mail = \"ada\""),
                ElementsAre("run.toml:1: notify.mail = \"ada\": must be one address of ASCII "
                            "characters, as in ada@example.org"));
    EXPECT_THAT(problems_of("notify.command = [\"\", \"x\"]"), testing::SizeIs(1));
    EXPECT_THAT(problems_of("notify = { webhook = \"https://a/b\", mail = \"a@b\", "
                            "command = [\"true\"] }"),
                IsEmpty());
}

TEST(NotifyChecks, OccasionsWithoutAReceiverAreNamed) {
    auto const of = [](std::string const& keys) {
        return texts(without_effect(resolve(std::string(kMinimal) + "[notify]\n" + keys)));
    };
    EXPECT_THAT(of("on = [\"end\"]\n"),
                ElementsAre("run.toml:7: notify.on = [\"end\"]: nobody is notified: set "
                            "notify.command, notify.webhook or notify.mail"));
    EXPECT_THAT(of("on = []\n"), IsEmpty());
    EXPECT_THAT(of("on = [\"end\"]\nmail = \"a@b\"\n"), IsEmpty());
    EXPECT_THAT(of("mail = \"a@b\"\n"), IsEmpty());
}

TEST(NotifyChecks, MissingProgramsAreOnlyWarnings) {
    auto const warnings = [](std::string const& keys) {
        return texts(
            notify_warnings(resolve(std::string(kMinimal) + "[notify]\n" + keys), "/none"));
    };
    EXPECT_THAT(warnings("command = [\"no-such-program\"]\n"),
                ElementsAre(HasSubstr("run.toml:7: notify.command = [\"no-such-program\"]: this "
                                      "machine has no no-such-program in PATH")));
    EXPECT_THAT(warnings("command = [\"./later\"]\n"), IsEmpty());
    EXPECT_THAT(warnings(""), IsEmpty());
}

}  // namespace
}  // namespace osora::plan
