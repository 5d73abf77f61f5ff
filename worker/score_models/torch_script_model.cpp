// libosora_score_models.so: scores of clips by TorchScript files. It is loaded by
// worker/clips/clip_model and uses nothing of the program that loads it. LibTorch's exceptions end
// here.
#include "worker/clips/clip_model.hpp"
#include "worker/cuda/cuda_module.hpp"
#include "worker/parallel/load_cuda.hpp"

#include "base/text/text.hpp"

#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/full.h>
#include <c10/core/InferenceMode.h>
#include <c10/util/Exception.h>
#include <fmt/format.h>
#include <torch/csrc/jit/runtime/graph_executor.h>
#include <torch/csrc/jit/serialization/import.h>

#include <cmath>
#include <exception>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace osora::worker {
namespace {

constexpr std::int64_t kColours = 3;
constexpr float kGrey = 0.5F;  // of the frames that a file is tried on

/// One line: the last of what TorchScript's interpreter says, else the first.
std::string reason_of(std::exception const& error) {
    auto const* const of_torch = dynamic_cast<c10::Error const*>(&error);
    std::string const text =
        of_torch != nullptr ? of_torch->what_without_backtrace() : error.what();
    bool const traced = text.find("Traceback of TorchScript") != std::string::npos;
    std::string line;
    for (std::string_view const part : split(text, '\n')) {
        auto const said = trimmed(part);
        if (said.empty()) continue;
        line = said;
        if (!traced) break;
    }
    return line;
}

std::string shape_text(at::Tensor const& tensor) {
    std::string text;
    for (auto const length : tensor.sizes())
        text += fmt::format("{}{}", text.empty() ? "" : ", ", length);
    return "[" + text + "]";
}

/// "(x, y)", without self.
std::string arguments_text(c10::FunctionSchema const& schema) {
    std::string text;
    for (std::size_t i = 1; i < schema.arguments().size(); ++i)
        text += (i > 1 ? ", " : "") + schema.arguments()[i].name();
    return "(" + text + ")";
}

class TorchScriptModel : public ClipModel {
public:
    TorchScriptModel(ModelFile file, torch::jit::Module module, c10::Device device)
        : file_(std::move(file)), module_(std::move(module)), device_(device) {}

    [[nodiscard]] Result<double> score(RgbFrames const& clip) const override {
        auto pixels = at::from_blob(const_cast<std::uint8_t*>(clip.pixels.data()),
                                    {file_.frames, file_.height, file_.width, kColours}, at::kByte);
        auto const planes = pixels.permute({0, 3, 1, 2}).to(at::kFloat).div(255).contiguous();
        auto const made = forward(planes);
        if (made.has_error()) return Error(made.error());
        double const mean = *made;
        if (std::isnan(mean)) return invalid("the result is nan");  // of either sign
        if (!std::isfinite(mean)) return invalid(fmt::format("the result is {}", mean));
        return mean;
    }
    [[nodiscard]] std::string device() const override { return device_.str(); }

    /// Its arguments, and its result for grey frames.
    [[nodiscard]] Result<void> check() const {
        auto const method = module_.find_method("forward");
        if (!method) return invalid("has no forward()");
        auto const& schema = method->function().getSchema();
        std::size_t needed = 0;
        for (auto const& each : schema.arguments()) needed += each.default_value() ? 0 : 1;
        std::size_t const given = 1 + inputs_max();  // and self
        if (needed > given || schema.arguments().size() < given) {
            return invalid(fmt::format(
                "its forward takes {}, not {}", arguments_text(schema),
                inputs_max() == 1 ? "one tensor: frames" : "two tensors: first, second"));
        }
        auto const grey =
            at::full({file_.frames, kColours, file_.height, file_.width}, kGrey, at::kFloat);
        auto const made = forward(grey);
        if (made.has_error()) return Error(made.error());
        return {};
    }

private:
    [[nodiscard]] std::size_t inputs_max() const {
        return file_.input == ModelInput::pairs ? 2 : 1;
    }

    /// `frames`: (frames, 3, height, width) float, 0 to 1. The same operations in each call: a
    /// graph that is optimised after its first calls would change the last bits.
    [[nodiscard]] Result<double> forward(at::Tensor const& frames) const {
        try {
            c10::InferenceMode const inference;
            torch::jit::GraphOptimizerEnabledGuard const as_written(false);
            std::optional<std::lock_guard<std::mutex>> alone;
            if (device_.is_cuda()) alone.emplace(gpu_);
            auto const moved = frames.to(device_);
            std::vector<c10::IValue> inputs{moved};
            if (file_.input == ModelInput::pairs) {
                inputs = {moved.slice(0, 0, file_.frames - 1).contiguous(),
                          moved.slice(0, 1, file_.frames).contiguous()};
            }
            auto const result = module_.get_method("forward")(std::move(inputs));
            if (!result.isTensor())
                return invalid("its forward returns " + result.tagKind() + ", not a tensor");
            return mean_of(result.toTensor());
        } catch (std::exception const& error) {
            return invalid("its forward failed: " + reason_of(error));
        }
    }

    [[nodiscard]] Result<double> mean_of(at::Tensor const& result) const {
        bool const pairs = file_.input == ModelInput::pairs;
        std::int64_t const count = pairs ? file_.frames - 1 : file_.frames;
        bool const first = result.dim() >= 1 && result.size(0) == count;
        bool const scores =
            first && (result.dim() == 1 || (result.dim() == 2 && result.size(1) == 1));
        bool const flow = pairs && first && result.dim() == 4 && result.size(1) == 2 &&
                          result.size(2) == file_.height && result.size(3) == file_.width;
        if (!(scores || flow) || !result.is_floating_point()) {
            std::string const field =
                fmt::format(" or [{}, 2, {}, {}]", count, file_.height, file_.width);
            return invalid(fmt::format("its forward returns {} {}, not floats of [{}], [{}, 1]{}",
                                       c10::toString(result.scalar_type()), shape_text(result),
                                       count, count, pairs ? field : ""));
        }
        auto const numbers = result.to(at::kCPU, at::kDouble);
        return (flow ? numbers.abs() : numbers).mean().item<double>();
    }

    ModelFile file_;
    torch::jit::Module module_;
    c10::Device device_;
    mutable std::mutex gpu_;  // one call at a time: memory
};

Result<c10::Device> device_of(ModelFile const& file) {
    OSORA_TRY(CudaModule const* const cuda, load_cuda(file.cuda_module));
    if (cuda == nullptr) return c10::Device(c10::kCPU);
    try {
        int const index = file.local_rank % cuda->device_count();
        cuda->use_device(index);
        return c10::Device(c10::kCUDA, static_cast<c10::DeviceIndex>(index));
    } catch (std::exception const& error) {
        return invalid("GPU: " + reason_of(error));
    }
}

Result<std::unique_ptr<ClipModel>> open_model(ModelFile const& file) {
    at::set_num_threads(1);  // clips are scored side by side already
    OSORA_TRY(c10::Device const device, device_of(file));
    try {
        auto module = torch::jit::import_ir_module(std::make_shared<torch::jit::CompilationUnit>(),
                                                   file.file.string(), c10::kCPU);
        module.eval();
        module.to(device);
        auto model = std::make_unique<TorchScriptModel>(file, std::move(module), device);
        auto const checked = model->check();
        if (checked.has_error()) return Error(checked.error()).in(file.file.string());
        return std::unique_ptr<ClipModel>(std::move(model));
    } catch (std::exception const& error) {
        return invalid(fmt::format("{}: no TorchScript file that can be read: {}",
                                   file.file.string(), reason_of(error)));
    }
}

}  // namespace
}  // namespace osora::worker

extern "C" __attribute__((visibility("default"))) osora::worker::ScoreModels const*
osora_score_models() {
    static osora::worker::ScoreModels const module{.open = osora::worker::open_model};
    return &module;
}
