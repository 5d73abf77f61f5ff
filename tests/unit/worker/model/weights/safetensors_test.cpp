// Tensors through files: values, types, alignment, and what is left after a failure.
#include "worker/model/weights/safetensors.hpp"

#include "base/files/files.hpp"
#include "worker/model/weights/safetensors_header.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/ones.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

namespace osora::worker {
namespace {

class Safetensors : public testing::Test {
protected:
    Safetensors() { std::filesystem::create_directories(folder_); }
    ~Safetensors() override { std::filesystem::remove_all(folder_); }

    std::filesystem::path folder_ = std::filesystem::temp_directory_path() /
                                    ("osora-safetensors-" + std::to_string(::getpid()));
};

TEST_F(Safetensors, RoundTripOfEveryType) {
    std::vector<NamedTensor> tensors;
    for (auto const type : {at::kBool, at::kByte, at::kChar, at::kShort, at::kInt, at::kLong,
                            at::kHalf, at::kBFloat16, at::kFloat, at::kDouble})
        tensors.push_back({std::string("t.") + at::toString(type),
                           at::arange(15).remainder(2).to(type).view({3, 5})});
    tensors.push_back({"transposed", at::arange(6).view({2, 3}).t()});
    tensors.push_back({"scalar", at::ones({}, at::kFloat)});
    tensors.push_back({"empty", at::empty({4, 0}, at::kFloat)});
    save_safetensors(folder_ / "a.safetensors", tensors, {{"config", "{}"}}).value();
    auto const content = load_safetensors(folder_ / "a.safetensors").value();
    EXPECT_EQ(content.metadata.at("config"), "{}");
    ASSERT_EQ(content.tensors.size(), tensors.size());
    for (auto const& [name, tensor, kind] : tensors) {
        auto const* found = content.find(name);
        ASSERT_NE(found, nullptr) << name;
        EXPECT_EQ(found->scalar_type(), tensor.scalar_type()) << name;
        EXPECT_TRUE(at::equal(*found, tensor)) << name;
    }
    EXPECT_EQ(content.find("nobody"), nullptr);
}

TEST_F(Safetensors, TensorsOutliveTheContentAndDoNotChangeTheFile) {
    auto const path = folder_ / "b.safetensors";
    save_safetensors(path, {{"x", at::arange(8).to(at::kFloat)}}).value();
    auto const before = read_file(path).value();
    at::Tensor x = *load_safetensors(path).value().find("x");
    x.add_(1);
    EXPECT_EQ(x.sum().item<float>(), 36.0f);
    EXPECT_EQ(read_file(path).value(), before);
}

TEST_F(Safetensors, MisalignedDataIsCopied) {
    std::vector<TensorInfo> infos{{"flag", DType::u8, {1}, 0, 0}, {"x", DType::f32, {2}, 0, 0}};
    std::string bytes = make_safetensors_header(infos, {});
    float const values[] = {1.5f, -2.0f};
    bytes += '\x07';
    bytes.append(reinterpret_cast<char const*>(values), sizeof values);
    write_file_atomic(folder_ / "c.safetensors", bytes).value();
    auto const x = *load_safetensors(folder_ / "c.safetensors").value().find("x");
    EXPECT_EQ(x[0].item<float>(), 1.5f);
    EXPECT_EQ(x[1].item<float>(), -2.0f);
}

TEST_F(Safetensors, ErrorsNameTheFile) {
    auto const missing = load_safetensors(folder_ / "missing");
    ASSERT_TRUE(missing.has_error());
    EXPECT_EQ(missing.error().code, Errc::not_found);
    EXPECT_TRUE(load_safetensors(folder_).has_error());  // a folder
    save_safetensors(folder_ / "d", {{"x", at::arange(100)}}).value();
    std::string const whole = read_file(folder_ / "d").value();
    for (std::size_t const kept :
         {std::size_t{0}, std::size_t{7}, std::size_t{40}, whole.size() - 1}) {
        write_file_atomic(folder_ / "cut", std::string_view(whole).substr(0, kept)).value();
        auto const cut = load_safetensors(folder_ / "cut");
        ASSERT_TRUE(cut.has_error()) << kept;
        EXPECT_EQ(cut.error().code, Errc::corrupt);
        EXPECT_NE(cut.error().message.find("cut"), std::string::npos);
    }
}

TEST_F(Safetensors, AFailedSaveLeavesTheOldFileAndNothingElse) {
    auto const path = folder_ / "e";
    save_safetensors(path, {{"x", at::ones({2})}}).value();
    EXPECT_TRUE(save_safetensors(path, {{"x", at::ones({2}, at::kComplexFloat)}}).has_error());
    EXPECT_TRUE(save_safetensors(folder_ / "none" / "e", {{"x", at::ones({2})}}).has_error());
    EXPECT_TRUE(load_safetensors(path).has_value());
    auto const files = std::distance(std::filesystem::directory_iterator(folder_), {});
    EXPECT_EQ(files, 1);
}

}  // namespace
}  // namespace osora::worker
