// Files of torch.save as PyTorch 2.11 wrote them (tests/data/torch_files), and broken ones.
#include "worker/model/weights/torch_file.hpp"
#include "base/files/files.hpp"
#include "tests/unit/worker/model/weights/torch_kit.hpp"
#include "worker/model/weights/safetensors.hpp"
#include "worker/model/weights/weight_files.hpp"

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
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

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

std::map<std::string, at::Tensor> by_name(LoadedWeights const& loaded) {
    std::map<std::string, at::Tensor> tensors;
    for (auto const& each : loaded.tensors) tensors[each.name] = each.tensor;
    return tensors;
}

/// The five tensors of make_torch_files.py.
void expect_weights(LoadedWeights const& loaded, std::string const& front = "") {
    at::Tensor const grid = at::arange(12, at::kFloat).view({3, 4});
    auto tensors = by_name(loaded);
    ASSERT_EQ(tensors.size(), 5u);
    EXPECT_TRUE(tensors[front + "a.weight"].equal(grid.slice(0, 0, 2).slice(1, 0, 3)));
    EXPECT_TRUE(tensors[front + "a.bias"].equal(at::ones({4}, at::kBFloat16)));
    EXPECT_EQ(tensors[front + "count"].item<int>(), 3);
    EXPECT_TRUE(tensors[front + "turned"].equal(grid.t()));
    EXPECT_TRUE(tensors[front + "part"].equal(grid.slice(0, 1)));
}

TEST_F(TorchFile, GivesTheTensorsOfEveryFormThatTrainersSave) {
    for (char const* name : {"plain", "nested", "ordered", "before_1_6", "before_1_6_ordered",
                             "training", "with_step", "protocol_4"}) {
        SCOPED_TRACE(name);
        auto const loaded = load_weight_files(recorded(name));
        ASSERT_TRUE(loaded.has_value()) << loaded.error().message;
        expect_weights(*loaded);
    }
    auto const lightning = load_weight_files(recorded("lightning"));
    ASSERT_TRUE(lightning.has_value()) << lightning.error().message;
    expect_weights(*lightning, "model.");
    auto const network = load_network_weights(recorded("lightning"));
    ASSERT_TRUE(network.has_value()) << network.error().message;
    expect_weights(*network);
    EXPECT_THAT(network->notices, Contains(HasSubstr("begin with 'model.', which is left out")));
    for (char const* name : {"parameters", "buffer"}) {
        auto const loaded = load_torch_file(recorded(name));
        ASSERT_TRUE(loaded.has_value()) << loaded.error().message;
        EXPECT_TRUE(loaded->tensors.front().tensor.equal(at::arange(12, at::kFloat).view({3, 4})));
        EXPECT_FALSE(loaded->tensors.front().tensor.requires_grad());
    }
}

TEST_F(TorchFile, SaysWhatItLeavesOut) {
    auto const step = load_torch_file(recorded("with_step"));
    ASSERT_TRUE(step.has_value());
    EXPECT_THAT(step->notices, ElementsAre(HasSubstr("step (Int)")));
    auto const training = load_torch_file(recorded("training"));
    ASSERT_TRUE(training.has_value()) << training.error().message;
    EXPECT_THAT(training->notices, ElementsAre(AllOf(HasSubstr("'model'"), HasSubstr("the top"))));
}

TEST_F(TorchFile, OneOfSeveralSetsIsChosenByName) {
    EXPECT_THAT(refusal(recorded("two_dicts"), Errc::invalid_input),
                AllOf(HasSubstr("model (5 tensors), ema (5 tensors)"),
                      HasSubstr("two_dicts.pt#model"), Not(HasSubstr("save_file"))));
    for (char const* set : {"model", "ema"}) {
        auto const loaded = load_weight_files(recorded("two_dicts").string() + "#" + set);
        ASSERT_TRUE(loaded.has_value()) << loaded.error().message;
        expect_weights(*loaded);
        EXPECT_THAT(loaded->notices, ElementsAre(HasSubstr("the set '" + std::string(set))));
    }
    auto const wrong = load_weight_files(recorded("two_dicts").string() + "#emma");
    ASSERT_TRUE(wrong.has_error());
    EXPECT_THAT(wrong.error().message, AllOf(HasSubstr("no set 'emma'"), HasSubstr("ema (5")));
    auto const part = load_weight_files(recorded("lightning").string() + "#model");
    ASSERT_TRUE(part.has_value()) << part.error().message;
    expect_weights(*part);
}

TEST_F(TorchFile, EightBitsAreWidenedExactly) {
    auto const loaded = load_network_weights(recorded("eight_bits"));
    ASSERT_TRUE(loaded.has_value()) << loaded.error().message;
    at::Tensor const grid = at::arange(12, at::kFloat).view({3, 4});
    auto tensors = by_name(*loaded);
    EXPECT_EQ(tensors["w"].scalar_type(), at::kBFloat16);
    EXPECT_TRUE(tensors["w"].to(at::kFloat).equal(grid));
    EXPECT_EQ(tensors["v"].select(0, 0).select(0, 3).item<float>(), 3);
    EXPECT_THAT(loaded->notices, ElementsAre(HasSubstr("2 tensors of fp8 are read as bf16")));
}

TEST_F(TorchFile, NamesWhatItCannotReadAndTheWayOut) {
    auto const way_out = HasSubstr("save_file");
    EXPECT_THAT(refusal(recorded("module"), Errc::invalid_input),
                AllOf(HasSubstr("torch.nn.modules.linear.Linear"), way_out));
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
    auto tensors = by_name(*loaded);
    at::Tensor const all = at::arange(1, 5, at::kFloat);
    EXPECT_TRUE(tensors["all"].equal(all));
    EXPECT_EQ(tensors["corner"].item<float>(), 4);
    EXPECT_EQ(tensors["none"].numel(), 0);
    EXPECT_EQ(tensors["number"].item<float>(), 1);
    EXPECT_TRUE(tensors["spread"].equal(all.expand({3, 4})));
    EXPECT_TRUE(tensors["square"].equal(all.view({2, 2}).t()));
}

TEST_F(TorchFile, NamesTensorsThatAreNotPlain) {
    auto const refused = [&](test::Claim const& claim) {
        auto const pickle = test::pickle_of({claim});
        return refusal(written(test::archive_of(pickle, {{"0", std::string(16, 'x')}})),
                       Errc::invalid_input);
    };
    EXPECT_THAT(refused({.storage = "QInt8Storage"}), HasSubstr("torch.QInt8Storage"));
    EXPECT_THAT(refused({.storage = "UntypedStorage"}), HasSubstr("torch.UntypedStorage"));
    for (char const* function : {"_rebuild_qtensor", "_rebuild_sparse_tensor",
                                 "_rebuild_nested_tensor", "_rebuild_device_tensor_from_numpy"}) {
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
    EXPECT_THAT(answer(itself.bytes(), Errc::invalid_input), HasSubstr("holds no dict of tensors"));
    EXPECT_THAT(answer(test::pickle_of({{}, {}}), Errc::corrupt), HasSubstr("there twice"));
    for (char const* broken : {"", "R.", "t.", "(((.", "Q.", "h\x07.", "}a.", "X\xff\xff\xff\xff",
                               "s.", "b.", "q", "]s.", "}(Nu."}) {
        EXPECT_THAT(answer(broken, Errc::corrupt), HasSubstr("pickle, byte ")) << broken;
    }
    EXPECT_THAT(answer("\x80\x04\x97", Errc::invalid_input), HasSubstr("opcode 0x97"));
    EXPECT_THAT(answer("\x80\x04\x95", Errc::corrupt), HasSubstr("cut off"));
}

TEST_F(TorchFile, TheAdviceRunsNothingThatAFileIsCalled) {
    auto const odd = folder_ / "a');import os;$(id)`id`.pt";
    fs::copy_file(recorded("module"), odd);
    auto const said = refusal(odd, Errc::invalid_input);
    EXPECT_THAT(said, HasSubstr("sys.argv[1]"));
    EXPECT_TRUE(said.ends_with(R"( 'a'\'');import os;$(id)`id`.pt')")) << said;
    auto const option = folder_ / "-x.pt";
    fs::copy_file(recorded("module"), option);
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
    for (char const* name : {"plain", "before_1_6", "protocol_4"}) {
        auto const whole = read_file(recorded(name), 1 << 20);
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
}

}  // namespace
}  // namespace osora::worker
