#include "protocol/json.hpp"

#include "protocol/messages/message.hpp"
#include "protocol/messages/worker_messages.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace osora::protocol {
namespace {

enum class Colour { red, green };
BOOST_DESCRIBE_ENUM(Colour, red, green)
struct Inner {
    int count = 3;
    std::vector<double> values;
};
BOOST_DESCRIBE_STRUCT(Inner, (), (count, values))
struct Outer {
    std::string name = "x";
    Colour colour = Colour::red;
    AutoOr<int> workers;
    std::optional<bool> flag;
    std::map<std::string, Inner> inner;
    std::vector<Inner> list;
    Bytes raw;
};
BOOST_DESCRIBE_STRUCT(Outer, (), (name, colour, workers, flag, inner, list, raw))

TEST(Json, WritesWhatItReads) {
    std::string const text =
        R"({"name":"a \"b\"","colour":"green","workers":4,"flag":null,)"
        R"("inner":{"k":{"count":-1,"values":[1E0,5E-1,null]}},"list":[],"raw":"plain"})";
    auto const value = decode<Outer>(text);
    ASSERT_TRUE(value.has_value()) << value.error().message;
    EXPECT_EQ(value->name, "a \"b\"");
    EXPECT_EQ(value->workers.value, 4);
    EXPECT_TRUE(std::isnan(value->inner.at("k").values[2]));
    EXPECT_EQ(encode(*value), text);
}

TEST(Json, MissingFieldsKeepTheirDefaultAndUnknownOnesAreIgnored) {
    auto const value = decode<Outer>(R"({"workers":"auto","new_field":[1,2]})");
    ASSERT_TRUE(value.has_value());
    EXPECT_EQ(value->name, "x");
    EXPECT_TRUE(value->workers.is_auto());
}

TEST(Json, ErrorsNameThePath) {
    auto message = [](char const* text) { return decode<Outer>(text).error().message; };
    EXPECT_EQ(message(R"({"list":[{},{"count":"7"}]})"),
              "list[1].count: expected an integer, found a string");
    EXPECT_EQ(message(R"({"list":[{"count":3000000000}]})"),
              "list[0].count: number out of range: 3000000000");
    EXPECT_EQ(message(R"({"colour":"blue"})"), "colour: unknown name 'blue'");
    EXPECT_EQ(message("{"), "JSON: incomplete JSON near offset 1");
    EXPECT_EQ(message("{} x"), "JSON: more text after the value at offset 3");
}

TEST(Json, BytesSurviveWhateverTheyAre) {
    std::string every;
    for (int i = 0; i < 256; ++i) every += static_cast<char>(i);
    for (std::string const& bytes : {every, std::string("\xC3\xA4"), std::string("\xC3"),
                                     std::string("\xED\xA0\x80"), std::string("a\0b", 3)}) {
        auto const back = decode<Bytes>(encode(Bytes{bytes}));
        ASSERT_TRUE(back.has_value()) << back.error().message;
        EXPECT_EQ(back->value, bytes);
    }
    EXPECT_EQ(encode(Bytes{"\xC3\xA4"}), "\"\xC3\xA4\"");
    EXPECT_EQ(encode(Bytes{"\xFF"}), R"({"base64":"/w=="})");
    EXPECT_TRUE(decode<Bytes>(R"({"base64":"*"})").has_error());
    // Without padding: the last bytes come after the last group of four (seen by the asan preset).
    for (auto const& [text, size] : {std::pair("AAAAAA", 4), std::pair("AAAAAAA", 5)}) {
        auto const bytes = decode<Bytes>(fmt::format(R"({{"base64":"{}"}})", text));
        ASSERT_TRUE(bytes.has_value()) << bytes.error().message;
        EXPECT_EQ(bytes->value, std::string(static_cast<std::size_t>(size), '\0'));
    }
}

TEST(Json, DepthIsLimited) {
    EXPECT_TRUE(parse_json(std::string(1000, '[') + std::string(1000, ']')).has_error());
}

TEST(Json, NumbersThatNoDoubleHoldsAreRefused) {
    EXPECT_EQ(parse_json(R"({"a":[1,{"b":-1e999}]})").error().message,
              "JSON: a number is out of range");
    EXPECT_TRUE(parse_json("1e308").has_value());
}

TEST(Message, TravelsByItsType) {
    FromWorker const sent = PhaseChanged{.phase = Phase::checkpoint, .limit_s = 60};
    std::string const text = encode_message(sent);
    EXPECT_EQ(text, R"({"type":"phase","phase":"checkpoint","limit_s":6E1})");
    auto const got = decode_message<FromWorker>(text);
    ASSERT_TRUE(got.has_value());
    EXPECT_EQ(std::get<PhaseChanged>(*got).phase, Phase::checkpoint);
    EXPECT_EQ(decode_message<FromWorker>(R"({"type":"nope"})").error().message,
              "unknown message 'nope'");
    EXPECT_EQ(decode_message<FromWorker>("[]").error().message, "message without a \"type\"");
    EXPECT_EQ(decode_message<FromWorker>(R"({"type":"step","step":"x"})").error().message,
              "step: step: expected an integer, found a string");
}

}  // namespace
}  // namespace osora::protocol
