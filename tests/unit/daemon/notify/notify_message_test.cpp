// Text of runs and programs is data in every form of a message.
#include "daemon/notify/notify_message.hpp"

#include "base/text/text.hpp"
#include "base/text/utf8.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace osora::daemon {
namespace {

using testing::HasSubstr;
using testing::Not;

NotifyMessage hostile() {
    NotifyMessage message;
    message.occasion = Occasion::failure;
    message.run = 7;
    message.name = "a\r\nBcc: eve@evil\n\n.\n\"quoted\" <!channel> $(touch x)";
    message.state = "failed";
    message.exit_code = 1;
    message.verdict = "app_bug";
    message.reason = "<b>\x1b[2J & \xff \xe2\x80\xae" + std::string(5000, 'x');
    message.id = "E-internal";
    message.series = "demo";
    message.host = "h";
    message.wall_us = 1'767'225'600'000'000;  // 2026-01-01
    return message;
}

protocol::json::object parsed(std::string const& text) {
    auto const value = protocol::parse_json(text);
    EXPECT_TRUE(value.has_value()) << text;
    return value.has_value() ? value->as_object() : protocol::json::object{};
}

TEST(NotifyMessage, JsonForScripts) {
    NotifyMessage message;
    message.run = 7;
    message.name = "demo-0007";
    message.state = "done";
    message.exit_code = 0;
    message.verdict = "ok";
    message.steps = 20;
    message.elapsed_s = 62;
    message.series = "demo";
    message.host = "n1";
    message.wall_us = 1'767'225'600'000'000;
    EXPECT_EQ(json_of(message, true),
              R"({"schema":"osora.notify/1","occasion":"end","run":7,"name":"demo-0007",)"
              R"("state":"done","exit_code":0,"verdict":"ok","reason":"","id":"","steps":20,)"
              R"("elapsed_s":6.2E1,"series":"demo","host":"n1","time":"2026-01-01T00:00:00Z",)"
              R"("text":"osora: run demo-0007 done: 20 steps in 62.0 s"})");
    message.exit_code.reset();
    EXPECT_FALSE(parsed(json_of(message, false)).contains("exit_code"));
    EXPECT_FALSE(parsed(json_of(message, false)).contains("text"));
}

TEST(NotifyMessage, JsonKeepsHostileTextAsData) {
    auto const object = parsed(json_of(hostile(), true));
    EXPECT_EQ(object.at("name").as_string(), hostile().name);
    std::string const text(object.at("text").as_string());
    EXPECT_THAT(text, Not(HasSubstr("\n")));
    EXPECT_THAT(text, HasSubstr("&lt;!channel&gt;"));
    EXPECT_THAT(text, Not(HasSubstr("<")));
    EXPECT_TRUE(is_utf8(text));
}

TEST(NotifyMessage, VariablesAreOneLineEach) {
    Environment environment{"PATH=/bin"};
    add_variables(hostile(), environment);
    EXPECT_EQ(variable_or(environment, "OSORA_NOTIFY_OCCASION", ""), "failure");
    EXPECT_EQ(variable_or(environment, "OSORA_NOTIFY_RUN", ""), "7");
    EXPECT_EQ(variable_or(environment, "OSORA_NOTIFY_ID", ""), "E-internal");
    for (auto const& each : environment) {
        EXPECT_THAT(each, Not(HasSubstr("\n")));
        EXPECT_LT(each.size(), 2100u);
    }
    EXPECT_TRUE(check_size(environment).has_value());
}

TEST(NotifyMessage, NoTextOfARunMakesAHeader) {
    std::string const mail = mail_of(hostile(), "ada@example.org");
    auto const end = mail.find("\n\n");
    ASSERT_NE(end, std::string::npos);
    auto const headers = split(std::string_view(mail).substr(0, end), '\n');
    ASSERT_EQ(headers.size(), 6u);
    EXPECT_EQ(headers[0], "To: ada@example.org");
    EXPECT_THAT(std::string(headers[1]),
                testing::StartsWith("Subject: osora: run a??Bcc: eve@evil"));
    for (auto const header : headers) {
        EXPECT_LT(header.size(), 200u);
        EXPECT_EQ(header.find_first_not_of(
                      " !\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`"
                      "abcdefghijklmnopqrstuvwxyz{|}~"),
                  header.npos);
    }
    for (auto const line : split(mail, '\n')) EXPECT_LT(line.size(), 998u);
    EXPECT_THAT(mail_of(hostile(), "a@b\nBcc: c@d"), testing::StartsWith("To: a@b?Bcc: c@d\n"));
}

}  // namespace
}  // namespace osora::daemon
