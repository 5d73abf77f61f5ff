// Damaged pickles of torch.save, headers of safetensors and indexes of shards: what is accepted
// lies within its bytes, computed here in another way; the rest is refused with a message.
#include "tests/fuzz/corpus.hpp"
#include "tests/fuzz/mutate.hpp"
#include "tests/fuzz/rounds.hpp"
#include "worker/model/weights/safetensors_header.hpp"
#include "worker/model/weights/torch_pickle.hpp"
#include "worker/model/weights/weight_index.hpp"

#include <gtest/gtest.h>

namespace osora::worker {
namespace {

using fuzz::Mutator;
using fuzz::Rounds;
__extension__ using Wide = __int128;

/// Where the elements of an accepted tensor end, in bytes.
Wide end_bytes(TorchTensor const& tensor) {
    Wide last = tensor.offset;
    for (std::size_t i = 0; i < tensor.sizes.size(); ++i) {
        if (tensor.sizes[i] == 0) return 0;
        last += Wide{tensor.sizes[i] - 1} * tensor.strides[i];
    }
    return (last + 1) * tensor.width_bytes;
}

bool is_numbered(std::int64_t number) {
    return number >= 0;
}

void check_tensor(TorchTensor const& tensor, std::int64_t record_bytes) {
    auto const fits = check_in_record(tensor, record_bytes);
    if (fits.has_error()) {
        EXPECT_NE(fits.error().message.find("holds"), std::string::npos);
        return;
    }
    EXPECT_GE(tensor.offset, 0);
    EXPECT_TRUE(std::ranges::all_of(tensor.sizes, is_numbered));
    EXPECT_TRUE(std::ranges::all_of(tensor.strides, is_numbered));
    EXPECT_LE(end_bytes(tensor), record_bytes);
    EXPECT_GE(bytes_of(tensor), 0);
}

TEST(Fuzz, TorchPickles) {
    auto const corpus = fuzz::corpus_of("fuzz/corpus/torch_pickle");
    Mutator mutator(31);
    int accepted = 0, refused = 0;
    for (Rounds rounds(20'000); rounds.next();) {
        std::string const bytes = mutator.mutate(corpus);
        auto const tensors = parse_torch_pickle(bytes);
        if (tensors.has_error()) {
            EXPECT_FALSE(tensors.error().message.empty());
            EXPECT_LT(tensors.error().message.size(), 2000u);
            ++refused;
            continue;
        }
        ++accepted;
        for (auto const& each : tensors->tensors) {
            check_tensor(each, std::int64_t{1} << mutator.pick(40));
        }
        if (testing::Test::HasFailure()) FAIL() << "round " << rounds.done();
    }
    EXPECT_GT(accepted, 0);
    EXPECT_GT(refused, 0);
}

/// Claims of any size, among them those at the ends of 64 bits.
TEST(Fuzz, TorchClaims) {
    Mutator mutator(32);
    auto const number = [&]() -> std::int64_t {
        std::int64_t const bit = std::int64_t{1} << mutator.pick(63);
        switch (mutator.pick(6)) {
            case 0:
                return -static_cast<std::int64_t>(mutator.pick(9));
            case 1:
                return bit;
            case 2:
                return std::numeric_limits<std::int64_t>::max() -
                       static_cast<std::int64_t>(mutator.pick(9));
            default:
                return static_cast<std::int64_t>(mutator.pick(9));
        }
    };
    for (Rounds rounds(50'000); rounds.next();) {
        TorchTensor tensor;
        tensor.name = "w";
        tensor.width_bytes = std::int64_t{1} << mutator.pick(5);
        tensor.numel = number();
        tensor.offset = number();
        for (std::size_t i = mutator.pick(5); i > 0; --i) {
            tensor.sizes.push_back(number());
            tensor.strides.push_back(number());
        }
        check_tensor(tensor, std::max<std::int64_t>(0, number()));
        if (testing::Test::HasFailure()) FAIL() << "round " << rounds.done();
    }
}

TEST(Fuzz, SafetensorsHeaders) {
    std::vector<TensorInfo> tensors{{"a.weight", DType::bf16, {2, 3}, 0, 0},
                                    {"a.bias", DType::f32, {4}, 0, 0},
                                    {"none", DType::i64, {0, 5}, 0, 0},
                                    {"count", DType::u8, {}, 0, 0}};
    std::string const head = make_safetensors_header(tensors, {{"format", "pt"}, {"n", "1"}});
    auto const file_bytes = static_cast<std::int64_t>(head.size()) + tensors.back().end_bytes;
    std::vector<std::string> const corpus{head};
    Mutator mutator(33);
    int accepted = 0;
    for (Rounds rounds(20'000); rounds.next();) {
        std::string bytes = mutator.mutate(corpus);
        // Half of the damage keeps a length that fits, or nothing behind it would be looked at.
        if (mutator.pick(2) == 0 && bytes.size() > 8) {
            for (int i = 0; i < 8; ++i) {
                bytes[static_cast<std::size_t>(i)] = static_cast<char>((bytes.size() - 8) >> 8 * i);
            }
        }
        auto const size = file_bytes - static_cast<std::int64_t>(head.size() - bytes.size());
        auto const header = parse_safetensors_header(bytes, std::max<std::int64_t>(size, 0));
        if (header.has_error()) {
            EXPECT_FALSE(header.error().message.empty());
            continue;
        }
        ++accepted;
        for (auto const& each : header->tensors) {
            EXPECT_TRUE(each.begin_bytes >= 0 && each.begin_bytes <= each.end_bytes);
            EXPECT_LE(header->data_offset_bytes + each.end_bytes, size);
            EXPECT_TRUE(std::ranges::all_of(each.shape, is_numbered));
        }
        if (testing::Test::HasFailure()) FAIL() << "round " << rounds.done();
    }
    EXPECT_GT(accepted, 0);
}

TEST(Fuzz, WeightIndexes) {
    std::vector<std::string> const corpus{
        R"({"metadata": {"total_size": 12}, "weight_map": {"a": "x-1.safetensors", "b": "x-2"}})",
        R"({"weight_map": {"a": "../x", "b": "/etc/passwd", "": ""}})"};
    Mutator mutator(34);
    int accepted = 0;
    for (Rounds rounds(20'000); rounds.next();) {
        auto const files = parse_weight_index(mutator.mutate(corpus));
        if (files.has_error()) {
            EXPECT_FALSE(files.error().message.empty());
            continue;
        }
        ++accepted;
        for (auto const& [name, file] : *files) {
            EXPECT_EQ(file.find('/'), std::string::npos) << name;
            EXPECT_TRUE(!file.empty() && file != "." && file != "..") << name;
        }
    }
    EXPECT_GT(accepted, 0);
}

}  // namespace
}  // namespace osora::worker
