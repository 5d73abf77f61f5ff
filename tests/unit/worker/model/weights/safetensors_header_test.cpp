// The safetensors header: what the format allows, what a hostile file may try, and random damage.
#include "worker/model/weights/safetensors_header.hpp"

#include <gtest/gtest.h>

#include <random>

namespace osora::worker {
namespace {

std::string with_length(std::string_view json, std::uint64_t length) {
    std::string head;
    for (int i = 0; i < 8; ++i) head += static_cast<char>((length >> (8 * i)) & 0xFF);
    return head + std::string(json);
}

Result<SafetensorsHeader> parse(std::string_view json, std::int64_t data_bytes) {
    std::string const head = with_length(json, json.size());
    return parse_safetensors_header(head, static_cast<std::int64_t>(head.size()) + data_bytes);
}

std::string why(std::string_view json, std::int64_t data_bytes) {
    auto const parsed = parse(json, data_bytes);
    if (!parsed.has_error()) return "accepted";
    EXPECT_EQ(parsed.error().code, Errc::corrupt);
    return parsed.error().message;
}

TEST(SafetensorsHeader, ReadsTheExampleOfTheFormat) {
    // From the format's own README, with a scalar and an empty tensor added.
    auto const header = parse(R"({"__metadata__":{"a":"b"},
                  "TENSOR_NAME":{"dtype":"F16","shape":[1,16,256],"data_offsets":[0,8192]},
                  "scalar":{"dtype":"F64","shape":[],"data_offsets":[8192,8200]},
                  "empty":{"dtype":"I8","shape":[3,0],"data_offsets":[8200,8200]}}  )",
                              8200)
                            .value();
    ASSERT_EQ(header.tensors.size(), 3u);
    EXPECT_EQ(header.tensors[0], (TensorInfo{"TENSOR_NAME", DType::f16, {1, 16, 256}, 0, 8192}));
    EXPECT_EQ(header.tensors[1], (TensorInfo{"scalar", DType::f64, {}, 8192, 8200}));
    EXPECT_EQ(header.tensors[2], (TensorInfo{"empty", DType::i8, {3, 0}, 8200, 8200}));
    EXPECT_EQ(header.metadata.at("a"), "b");
}

TEST(SafetensorsHeader, RefusesLengthsThatCannotBe) {
    EXPECT_TRUE(safetensors_header_bytes("1234567", 7).has_error());
    EXPECT_TRUE(parse_safetensors_header(with_length("{}", 1ull << 63), 10).has_error());
    EXPECT_TRUE(parse_safetensors_header(with_length("{}", ~0ull), 10).has_error());
    EXPECT_TRUE(parse_safetensors_header(with_length("{}", 3), 10).has_error());
    EXPECT_TRUE(parse_safetensors_header(with_length("{}", 0), 10).has_error());
    EXPECT_TRUE(parse_safetensors_header(with_length("{}", 100'000'001), 1ll << 40).has_error());
    EXPECT_TRUE(parse_safetensors_header(with_length("{}", 2), 10).has_value());
    EXPECT_TRUE(parse_safetensors_header(with_length("{", 2), 10).has_error());
}

TEST(SafetensorsHeader, RefusesOverlapsHolesAndSizesThatDoNotFit) {
    auto const pair = [](std::string const& first, std::string const& second) {
        return R"({"a":{"dtype":"U8","shape":[4],"data_offsets":)" + first +
               R"(},"b":{"dtype":"U8","shape":[4],"data_offsets":)" + second + "}}";
    };
    EXPECT_EQ(why(pair("[0,4]", "[4,8]"), 8), "accepted");
    EXPECT_EQ(why(pair("[4,8]", "[0,4]"), 8), "accepted");
    EXPECT_NE(why(pair("[0,4]", "[2,6]"), 6), "accepted");   // overlap
    EXPECT_NE(why(pair("[0,4]", "[0,4]"), 4), "accepted");   // the same bytes twice
    EXPECT_NE(why(pair("[0,4]", "[5,9]"), 9), "accepted");   // a hole
    EXPECT_NE(why(pair("[0,4]", "[4,8]"), 9), "accepted");   // bytes that belong to no tensor
    EXPECT_NE(why(pair("[0,4]", "[4,8]"), 7), "accepted");   // cut off
    EXPECT_NE(why(pair("[0,4]", "[8,4]"), 8), "accepted");   // reversed
    EXPECT_NE(why(pair("[0,5]", "[5,9]"), 9), "accepted");   // not what the shape says
    EXPECT_NE(why(pair("[-4,0]", "[0,4]"), 4), "accepted");  // negative
}

TEST(SafetensorsHeader, RefusesNumbersThatOverflow) {
    auto const shaped = [](std::string const& shape, std::string const& end) {
        return R"({"a":{"dtype":"F32","shape":)" + shape + R"(,"data_offsets":[0,)" + end + "]}}";
    };
    EXPECT_EQ(why(shaped("[2]", "8"), 8), "accepted");
    EXPECT_NE(why(shaped("[4611686018427387904]", "0"), 0), "accepted");  // x 4 wraps to 0
    EXPECT_NE(why(shaped("[4294967296,4294967296]", "0"), 0), "accepted");
    EXPECT_NE(why(shaped("[4294967296,4294967296,0]", "0"), 0), "accepted");  // its strides
    EXPECT_NE(why(shaped("[18446744073709551615]", "8"), 8), "accepted");
    EXPECT_NE(why(shaped("[-2]", "8"), 8), "accepted");
    EXPECT_NE(why(shaped("[2.0]", "8"), 8), "accepted");
    EXPECT_NE(why(shaped("[1e400]", "8"), 8), "accepted");
    EXPECT_NE(why(shaped("[2]", "18446744073709551624"), 8), "accepted");
}

TEST(SafetensorsHeader, RefusesWrongTypesAndText) {
    EXPECT_NE(why("[]", 0), "accepted");
    EXPECT_NE(why(" {}", 0), "accepted");  // must start with '{'
    EXPECT_NE(why("{} x", 0), "accepted");
    EXPECT_NE(why("{\"\xFF\":1}", 0), "accepted");  // not UTF-8
    EXPECT_NE(why(R"({"a":1})", 0), "accepted");
    EXPECT_NE(why(R"({"__metadata__":{"a":1}})", 0), "accepted");
    EXPECT_NE(why(R"({"a":{"dtype":"F31","shape":[1],"data_offsets":[0,4]}})", 4), "accepted");
    EXPECT_NE(why(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4,8]}})", 4), "accepted");
    EXPECT_NE(why(R"({"a":{"dtype":"F32","shape":[1]}})", 4), "accepted");
    EXPECT_NE(why(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4],"x":1}})", 4),
              "accepted");
    std::string const deep(100'000, '[');
    EXPECT_NE(why("{\"a\":" + deep, 0), "accepted");
    EXPECT_NE(
        why(R"({"tensor_x":{"dtype":"F31","shape":[1],"data_offsets":[0,4]}})", 4).find("tensor_x"),
        std::string::npos);
}

TEST(SafetensorsHeader, WritesWhatItReads) {
    std::vector<TensorInfo> infos{{"x\"\n", DType::bf16, {3, 5}, 0, 0},
                                  {"e", DType::f32, {0}, 0, 0},
                                  {"y", DType::boolean, {7}, 0, 0}};
    std::string const head = make_safetensors_header(infos, {{"key", "value"}});
    EXPECT_EQ(head.size() % 64, 0u);
    auto const parsed =
        parse_safetensors_header(head, static_cast<std::int64_t>(head.size()) + 37).value();
    EXPECT_EQ(parsed.data_offset_bytes, static_cast<std::int64_t>(head.size()));
    EXPECT_EQ(parsed.tensors, infos);
    EXPECT_EQ(parsed.metadata.at("key"), "value");
}

/// Whatever the bytes, a header that is accepted describes tensors inside the file.
TEST(SafetensorsHeader, RandomDamageNeverEscapesTheFile) {
    std::vector<TensorInfo> infos{{"a", DType::f32, {2, 3}, 0, 0}, {"b", DType::u8, {8}, 0, 0}};
    std::string const good = make_safetensors_header(infos, {{"k", "v"}});
    std::mt19937_64 random(20240617);
    auto const below = [&](std::size_t end) { return random() % end; };
    std::string_view const digits = "0123456789[],{}\"-e.";
    int accepted = 0;
    for (int round = 0; round < 20'000; ++round) {
        std::string bytes = good;
        for (std::size_t edits = 1 + below(4); edits > 0; --edits) {
            std::size_t const at = below(bytes.size());
            switch (below(4)) {
                case 0:
                    bytes[at] = static_cast<char>(random());
                    break;
                case 1:
                    bytes[at] = digits[below(digits.size())];
                    break;
                case 2:
                    bytes.erase(at, 1 + below(3));
                    break;
                default:
                    bytes.insert(at, 1, digits[below(digits.size())]);
                    break;
            }
            if (bytes.empty()) bytes = "x";
        }
        auto const file_bytes =
            static_cast<std::int64_t>(bytes.size() + (below(4) == 0 ? below(40) : 32));
        auto const parsed = parse_safetensors_header(bytes, file_bytes);
        if (parsed.has_error()) continue;
        ++accepted;
        for (auto const& tensor : parsed->tensors) {
            ASSERT_LE(0, tensor.begin_bytes);
            ASSERT_LE(tensor.begin_bytes, tensor.end_bytes);
            ASSERT_LE(parsed->data_offset_bytes + tensor.end_bytes, file_bytes);
            std::int64_t bytes_of_shape = bytes_of(tensor.dtype);
            for (auto const size : tensor.shape) bytes_of_shape *= size;
            ASSERT_EQ(bytes_of_shape, tensor.end_bytes - tensor.begin_bytes);
        }
    }
    EXPECT_GT(accepted, 10);  // the damage is not so great that nothing gets through
}

}  // namespace
}  // namespace osora::worker
