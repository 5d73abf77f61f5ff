// Files of torch.save as PyTorch 2.11 wrote them (tests/data/torch_files), and broken ones.
#include "worker/model/torch_file.hpp"
#include "base/files.hpp"
#include "tests/unit/worker/torch_kit.hpp"
#include "worker/model/safetensors.hpp"
#include "worker/model/weight_files.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/ones.h>
#include <gmock/gmock.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <fstream>
#include <limits>
#include <map>

namespace osora::worker {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;

fs::path recorded(std::string const& name) {
    return fs::path(OSORA_SOURCE_DIR) / "tests/data/torch_files" / (name + ".pt");
}

std::string refusal(fs::path const& path, Errc code) {
    auto const loaded = load_torch_file(path);
    if (!loaded.has_error()) return "no error";
    EXPECT_EQ(loaded.error().code, code) << loaded.error().message;
    EXPECT_THAT(loaded.error().message, HasSubstr(path.filename().string()));
    return loaded.error().message;
}

class TorchFile : public testing::Test {
protected:
    void SetUp() override {
        char name[] = "/tmp/osora-torch-file-XXXXXX";
        folder_ = ::mkdtemp(name);
    }
    void TearDown() override { fs::remove_all(folder_); }

    [[nodiscard]] fs::path written(std::string const& bytes) const {
        fs::path const path = folder_ / "broken.pt";
        std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
        return path;
    }

    fs::path folder_;
};

TEST_F(TorchFile, GivesTheTensorsOfADict) {
    at::Tensor const grid = at::arange(12, at::kFloat).view({3, 4});
    for (char const* name : {"plain", "nested"}) {
        auto const loaded = load_weight_files(recorded(name));
        ASSERT_TRUE(loaded.has_value()) << loaded.error().message;
        std::map<std::string, at::Tensor> by_name;
        for (auto const& each : *loaded) by_name[each.name] = each.tensor;
        ASSERT_EQ(by_name.size(), 5u);
        EXPECT_TRUE(by_name["a.weight"].equal(grid.slice(0, 0, 2).slice(1, 0, 3)));
        EXPECT_TRUE(by_name["a.bias"].equal(at::ones({4}, at::kBFloat16)));
        EXPECT_EQ(by_name["count"].item<int>(), 3);
        EXPECT_TRUE(by_name["turned"].equal(grid.t()));
        EXPECT_TRUE(by_name["part"].equal(grid.slice(0, 1)));
    }
    auto const parameters = load_torch_file(recorded("parameters"));
    ASSERT_TRUE(parameters.has_value()) << parameters.error().message;
    EXPECT_FALSE(parameters->front().tensor.requires_grad());
}

TEST_F(TorchFile, NamesWhatItCannotReadAndTheWayOut) {
    auto const way_out = HasSubstr("save_file");
    EXPECT_THAT(refusal(recorded("ordered"), Errc::invalid_input),
                AllOf(HasSubstr("OrderedDict"), way_out));
    EXPECT_THAT(refusal(recorded("module"), Errc::invalid_input),
                AllOf(HasSubstr("torch.nn.modules.linear.Linear"), way_out));
    EXPECT_THAT(refusal(recorded("before_1_6"), Errc::invalid_input),
                AllOf(HasSubstr("before 1.6"), way_out));
    EXPECT_THAT(refusal(recorded("two_dicts"), Errc::invalid_input),
                AllOf(HasSubstr("2 dicts of tensors"), HasSubstr("ema"), way_out));
    EXPECT_THAT(refusal(recorded("no_tensor"), Errc::invalid_input), HasSubstr("epoch (Int)"));
    EXPECT_THAT(refusal(recorded("list"), Errc::invalid_input), HasSubstr("not a dict"));
}

TEST_F(TorchFile, SaysWhichFileIsMissingEmptyOrForeign) {
    EXPECT_THAT(refusal(folder_ / "none.pt", Errc::not_found), HasSubstr("none.pt"));
    EXPECT_THAT(refusal(written(""), Errc::corrupt), HasSubstr("shorter"));
    EXPECT_THAT(refusal(written("not weights"), Errc::corrupt), HasSubstr("PK"));
    EXPECT_TRUE(load_torch_file(folder_).has_error());
}

constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();

/// Each is a lie about a record of 16 bytes.
TEST_F(TorchFile, RefusesWhatReachesBeyondItsRecord) {
    using test::Claim;
    std::string const record(16, 'x');
    struct Lie {
        Claim claim;
        char const* said;
    };
    std::vector<Lie> const lies{
        {{.sizes = {65536}}, "claims elements 0 to 65535 of 4 bytes"},
        {{.numel = 65536, .sizes = {65536}}, "claims 65536 elements of 4 bytes"},
        {{.offset = -4096}, "begins at element -4096"},
        {{.offset = 1}, "claims elements 1 to 4"},
        {{.numel = 5}, "claims 5 elements"},
        {{.numel = -1}, "claims -1 elements"},
        {{.sizes = {-1}}, "below 0"},
        {{.strides = {-1}}, "below 0"},
        {{.strides = {2}}, "claims elements 0 to 6"},
        {{.sizes = {2, 2}, .strides = {3, 1}}, "claims elements 0 to 4"},
        {{.sizes = {4}, .strides = {}}, "1 sizes and 0 strides"},
        {{.sizes = {kHuge, kHuge}, .strides = {kHuge, kHuge}}, "overflows"},
        {{.sizes = {1LL << 62}, .strides = {0}}, "overflows"},
        {{.sizes = {0, 1LL << 40, 1LL << 40}, .strides = {1, 1, 1}}, "overflows"},
        {{.offset = kHuge}, "overflows"},
        {{.storage = "DoubleStorage"}, "claims 4 elements of 8 bytes"},
        {{.storage = "ComplexDoubleStorage", .numel = 2, .sizes = {2}}, "2 elements of 16 bytes"},
        {{.numel = 1LL << 62, .sizes = {1LL << 62}}, "elements of 4 bytes"},
        {{.sizes = {1LL << 40}, .strides = {0}}, "tensors of this file have more than"},
        {{.key = "7"}, "its record data/7 is not there"},
        {{.key = "../x"}, "is not there"},
        {{.sizes = std::vector<std::int64_t>(65, 1), .strides = std::vector<std::int64_t>(65, 1)},
         "65 sizes"}};
    for (auto const& [claim, said] : lies) {
        auto const path = written(test::archive_of(test::pickle_of({claim}), {{"0", record}}));
        EXPECT_THAT(refusal(path, Errc::corrupt), AllOf(HasSubstr("tensor 'w'"), HasSubstr(said)));
    }
    // A record beside a true one does not help.
    auto const second = test::pickle_of({{.name = "a"}, {.name = "w", .key = "1", .numel = 5}});
    EXPECT_THAT(
        refusal(written(test::archive_of(second, {{"0", record}, {"1", record}})), Errc::corrupt),
        HasSubstr("tensor 'w': it claims 5 elements"));
}

TEST_F(TorchFile, TakesWhatLiesInItsRecord) {
    using test::Claim;
    std::vector<Claim> const claims{
        {.name = "all"},
        {.name = "corner", .offset = 3, .sizes = {1, 1}, .strides = {9, 9}},
        {.name = "none", .sizes = {0, 5}, .strides = {5, 1}},
        {.name = "number", .sizes = {}, .strides = {}},
        {.name = "spread", .sizes = {3, 4}, .strides = {0, 1}},
        {.name = "square", .sizes = {2, 2}, .strides = {1, 2}}};
    float const values[] = {1, 2, 3, 4};
    std::string const record(reinterpret_cast<char const*>(values), sizeof values);
    auto const path = written(test::archive_of(test::pickle_of(claims), {{"0", record}}));
    auto const loaded = load_torch_file(path);
    ASSERT_TRUE(loaded.has_value()) << loaded.error().message;
    std::map<std::string, at::Tensor> by_name;
    for (auto const& each : *loaded) by_name[each.name] = each.tensor;
    at::Tensor const all = at::arange(1, 5, at::kFloat);
    EXPECT_TRUE(by_name["all"].equal(all));
    EXPECT_EQ(by_name["corner"].item<float>(), 4);
    EXPECT_EQ(by_name["none"].numel(), 0);
    EXPECT_EQ(by_name["number"].item<float>(), 1);
    EXPECT_TRUE(by_name["spread"].equal(all.expand({3, 4})));
    EXPECT_TRUE(by_name["square"].equal(all.view({2, 2}).t()));
}

TEST_F(TorchFile, NamesTensorsThatAreNotPlain) {
    auto const refused = [&](test::Claim const& claim) {
        auto const pickle = test::pickle_of({claim});
        return refusal(written(test::archive_of(pickle, {{"0", std::string(16, 'x')}})),
                       Errc::invalid_input);
    };
    EXPECT_THAT(refused({.storage = "QInt8Storage"}), HasSubstr("torch.QInt8Storage"));
    EXPECT_THAT(refused({.storage = "UntypedStorage"}), HasSubstr("torch.UntypedStorage"));
    for (char const* function :
         {"_rebuild_qtensor", "_rebuild_sparse_tensor", "_rebuild_nested_tensor",
          "_rebuild_tensor_v3", "_rebuild_device_tensor_from_numpy"}) {
        EXPECT_THAT(refused({.function = function}),
                    AllOf(HasSubstr("tensor 'w'"), HasSubstr(function)));
    }
}

/// Lists in lists, a dict in itself, a name twice, a stack that is too short.
TEST_F(TorchFile, RefusesPicklesThatAreNoPicklesOfWeights) {
    std::string nested = "\x80\x02";
    for (int i = 0; i < 1'000'000; ++i) nested += "]";
    for (int i = 1; i < 1'000'000; ++i) nested += "a";
    test::PickleWriter itself;
    itself.put("\x80\x02}q").put(std::string_view("\0", 1)).text("w");
    itself.put("h").put(std::string_view("\0", 1)).put("s.");
    auto const answer = [&](std::string const& pickle, Errc code) {
        return refusal(written(test::archive_of(pickle, {{"0", std::string(16, 'x')}})), code);
    };
    EXPECT_THAT(answer(nested + ".", Errc::invalid_input), HasSubstr("holds a List"));
    EXPECT_THAT(answer(itself.bytes(), Errc::invalid_input), HasSubstr("w (Dict)"));
    EXPECT_THAT(answer(test::pickle_of({{}, {}}), Errc::corrupt), HasSubstr("there twice"));
    for (char const* broken : {"", "R.", "t.", "(((.", "Q.", "h\x07.", "}a.", "X\xff\xff\xff\xff",
                               "s.", "b.", "q", "]s.", "}(Nu."}) {
        EXPECT_THAT(answer(broken, Errc::corrupt), HasSubstr("pickle, byte ")) << broken;
    }
    EXPECT_THAT(answer("\x80\x04\x95", Errc::invalid_input), HasSubstr("opcode 0x95"));
}

TEST_F(TorchFile, TheAdviceRunsNothingThatAFileIsCalled) {
    auto const odd = folder_ / "a');import os;$(id)`id`.pt";
    fs::copy_file(recorded("ordered"), odd);
    auto const said = refusal(odd, Errc::invalid_input);
    EXPECT_THAT(said, HasSubstr("sys.argv[1]"));
    EXPECT_TRUE(said.ends_with(R"( 'a'\'');import os;$(id)`id`.pt')")) << said;
    auto const option = folder_ / "-x.pt";
    fs::copy_file(recorded("ordered"), option);
    EXPECT_TRUE(refusal(option, Errc::invalid_input).ends_with(" ./-x.pt"));
}

/// Opening a FIFO without a writer would wait for ever.
TEST_F(TorchFile, RefusesAtOnceWhatIsNoFile) {
    for (char const* name : {"fifo.pt", "fifo.safetensors", "fifo.index.json"}) {
        ASSERT_EQ(::mkfifo((folder_ / name).c_str(), 0600), 0);
        auto const loaded = load_weight_files(folder_ / name);
        ASSERT_TRUE(loaded.has_error());
        EXPECT_EQ(loaded.error().code, Errc::invalid_input);
        EXPECT_THAT(loaded.error().message, AllOf(HasSubstr(name), HasSubstr("it is a FIFO")));
    }
    fs::create_symlink("/dev/zero", folder_ / "zero.bin");
    EXPECT_THAT(refusal(folder_ / "zero.bin", Errc::invalid_input), HasSubstr("device"));
}

// Cut at any length and with any byte changed: an answer, never a crash.
TEST_F(TorchFile, SurvivesEveryCutAndManyFlips) {
    auto const whole = read_file(recorded("plain"), 1 << 20);
    ASSERT_TRUE(whole.has_value());
    for (std::size_t length = 0; length + 1 < whole->size(); length += 41) {
        EXPECT_TRUE(load_torch_file(written(whole->substr(0, length))).has_error()) << length;
    }
    for (std::size_t at = 0; at < whole->size(); at += 5) {
        std::string changed = *whole;
        changed[at] = static_cast<char>(changed[at] ^ (1 << (at / 5 % 8)));
        auto const loaded = load_torch_file(written(changed));
        if (loaded.has_error()) {
            EXPECT_THAT(loaded.error().code,
                        AnyOf(Errc::corrupt, Errc::invalid_input, Errc::not_found));
        }
    }
}

}  // namespace
}  // namespace osora::worker
