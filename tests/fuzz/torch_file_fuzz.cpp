// Damaged .pt files, whole: what loads can be read to its last byte, the rest is refused with a
// message that names the file.
#include "tests/fuzz/corpus.hpp"
#include "tests/fuzz/mutate.hpp"
#include "tests/fuzz/rounds.hpp"
#include "tests/unit/worker/model/weights/torch_kit.hpp"
#include "worker/model/weights/torch_file.hpp"

#include <ATen/core/Tensor.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

namespace osora::worker {
namespace {

namespace fs = std::filesystem;
using fuzz::Mutator;
using fuzz::Rounds;

class TorchFiles : public testing::Test {
protected:
    void SetUp() override {
        std::string pattern = (fs::temp_directory_path() / "osora-torch-fuzz-XXXXXX").string();
        folder_ = ::mkdtemp(pattern.data());
    }
    void TearDown() override { fs::remove_all(folder_); }

    /// Whether it loaded.
    bool load(std::string const& bytes) {
        auto const path = folder_ / "w.pt";
        std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
        auto const loaded = load_torch_file(path);
        if (loaded.has_error()) {
            EXPECT_NE(loaded.error().message.find("w.pt"), std::string::npos);
            return false;
        }
        for (NamedTensor const& each : loaded->tensors) {
            if (each.tensor.numel() > 1 << 20) continue;
            EXPECT_EQ(each.tensor.contiguous().numel(), each.tensor.numel());
        }
        return true;
    }
    fs::path folder_;
};

TEST_F(TorchFiles, SurviveDamageAnywhere) {
    auto const corpus = fuzz::corpus_of("data/torch_files", ".pt");
    Mutator mutator(35);
    int loaded = 0;
    for (Rounds rounds(300); rounds.next();) {
        loaded += load(mutator.mutate(corpus)) ? 1 : 0;
        if (HasFailure()) FAIL() << "round " << rounds.done();
    }
    static_cast<void>(loaded);  // checksums refuse most
}

/// The archive is whole, so that what is damaged is read.
TEST_F(TorchFiles, SurviveDamagedPickles) {
    auto const corpus = fuzz::corpus_of("fuzz/corpus/torch_pickle");
    Mutator mutator(36);
    int loaded = 0;
    for (Rounds rounds(300); rounds.next();) {
        std::map<std::string, std::string> records;
        for (char const* key : {"0", "1", "2", "3"}) records[key].assign(8 + mutator.pick(48), 'x');
        loaded += load(test::archive_of(mutator.mutate(corpus), records)) ? 1 : 0;
        if (HasFailure()) FAIL() << "round " << rounds.done();
    }
    EXPECT_GT(loaded, 0);
}

}  // namespace
}  // namespace osora::worker
