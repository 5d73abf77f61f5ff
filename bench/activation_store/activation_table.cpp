// One training pass of an STDiT3 with each way to hold its activations, beside plain saving: peak
// bytes of LibTorch's allocator above what was there before, time in interleaved pairs, and the
// gradient against the exact one. activation_table [HIDDEN [DEPTH [PAIRS]]]; exit code 1 when int8
// misses its limits.
#include "tests/kit/counted_memory.hpp"
#include "worker/memory/activation_store.hpp"
#include "worker/model/stdit/stdit3.hpp"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <string>
#include <vector>

namespace osora::worker {
namespace {

constexpr double kPeakLimit = 0.30, kBf16Limit = 0.55, kCosineLimit = 0.999, kTimeLimit = 1.15;

struct Way {
    std::string name, recompute, store;
};

class Bench {
public:
    Bench(std::int64_t hidden, std::int64_t depth, at::ScalarType type = at::kFloat)
        : model_(config_of(hidden, depth), type) {
        auto const generator = at::make_generator<at::CPUGeneratorImpl>(1);
        model_.initialise(1);
        at::NoGradGuard const no_graph;
        for (auto const& each : model_.parameters().all()) {
            // Weights that start at 0 would hide differences behind them.
            if (each.kind == TensorKind::trainable && each.tensor.count_nonzero().item<int>() == 0)
                each.tensor.normal_(0, 0.02, generator);
            weights_.push_back(each.tensor);
        }
        input_.x = at::randn({2, 4, 8, 32, 32}, generator);
        input_.timestep = at::tensor({200.0F, 800.0F});
        input_.fps = at::tensor({24.0F});
        input_.height_px = input_.width_px = 256;
        target_ = at::randn({2, 4, 8, 32, 32}, generator);
    }

    /// Seconds.
    double pass(Way const& way) {
        model_.set_recompute(std::make_shared<plan::RecomputeChoice const>(
            plan::recompute_choice(way.recompute).value()));
        model_.parameters().clear_gradients();
        auto const start = std::chrono::steady_clock::now();
        StoreOptions options;
        options.form = store_form(way.store).value();
        ActivationStore store(options);
        at::Tensor loss;
        {
            ActivationStore::Scope const scope(store, weights_, 0);
            loss = model_.forward(input_).narrow(1, 0, 4).sub(target_).square().mean();
        }
        loss.backward();
        std::chrono::duration<double> const passed = std::chrono::steady_clock::now() - start;
        return passed.count();
    }
    /// Above gradients, which are there in the end.
    double peak_mib(Way const& way) {
        pass(way);
        std::int64_t gradients = 0;
        for (auto const& each : model_.parameters().trainable())
            gradients += static_cast<std::int64_t>(each.nbytes());
        model_.parameters().clear_gradients();
        CountedMemory const counted;
        pass(way);
        return static_cast<double>(counted.peak_bytes() - gradients) / (1 << 20);
    }
    std::vector<at::Tensor> gradients(Way const& way) {
        pass(way);
        std::vector<at::Tensor> found;
        for (auto const& each : model_.parameters().trainable()) found.push_back(each.grad());
        return found;
    }

private:
    static Stdit3Config config_of(std::int64_t hidden, std::int64_t depth) {
        Stdit3Config config;
        config.hidden_size = hidden;
        config.depth = depth;
        config.num_heads = hidden / 72;
        return config;
    }
    Stdit3 model_;
    Stdit3Input input_;
    at::Tensor target_;
    std::vector<at::Tensor> weights_;
};

double cosine(std::vector<at::Tensor> const& a, std::vector<at::Tensor> const& b) {
    double both = 0, of_a = 0, of_b = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        at::Tensor const x = a[i].to(at::kDouble), y = b[i].to(at::kDouble);
        both += x.mul(y).sum().item<double>();
        of_a += x.square().sum().item<double>();
        of_b += y.square().sum().item<double>();
    }
    return both / std::sqrt(of_a * of_b);
}

/// Median over pairs of (this way, plain), one after the other.
double time_ratio(Bench& bench, Way const& plain, Way const& way, int pairs) {
    std::vector<double> ratios;
    for (int i = 0; i < pairs; ++i) {
        double const first = bench.pass(i % 2 == 0 ? plain : way);
        double const second = bench.pass(i % 2 == 0 ? way : plain);
        ratios.push_back(i % 2 == 0 ? second / first : first / second);
    }
    std::ranges::sort(ratios);
    return ratios[ratios.size() / 2];
}

int run(std::int64_t hidden, std::int64_t depth, int pairs) {
    Bench bench(hidden, depth);
    std::vector<Way> const ways{
        {"plain", "none", "none"},          {"bf16", "none", "bf16"},
        {"int8", "none", "int8"},           {"offload", "none", "offload"},
        {"selective", "selective", "none"}, {"half", std::to_string(depth), "none"},
        {"full", "full", "none"},           {"full, offload", "full", "offload"}};
    fmt::print("STDiT3 {} x {} pairs of blocks, 2 x 8 x 256 tokens, fp32, {} threads, {} pairs\n",
               hidden, depth, at::get_num_threads(), pairs);
    fmt::print("{:14} {:>9} {:>7} {:>7} {:>11}\n", "", "peak MiB", "peak", "time", "1 - cosine");
    double const plain_mib = bench.peak_mib(ways[0]);
    auto const exact = bench.gradients(ways[0]);
    bool missed = false;
    for (Way const& way : ways) {
        double const mib = bench.peak_mib(way);
        double const same = cosine(exact, bench.gradients(way));
        double const time = time_ratio(bench, ways[0], way, pairs);
        fmt::print("{:14} {:9.1f} {:7.3f} {:7.3f} {:11.2g}\n", way.name, mib, mib / plain_mib, time,
                   1 - same);
        if (way.store == "int8") {
            missed = mib > kPeakLimit * plain_mib || same < kCosineLimit || time > kTimeLimit;
        }
    }
    Bench in_bf16(hidden, depth, at::kBFloat16);
    double const of_bf16 = in_bf16.peak_mib({"", "none", "int8"}) / in_bf16.peak_mib(ways[0]);
    missed = missed || of_bf16 > kBf16Limit;
    fmt::print("int8 of a network in bf16: peak {:.3f} of plain\n", of_bf16);
    fmt::print("int8: peak <= {}, <= {} in bf16, cosine >= {}, time <= {}: {}\n", kPeakLimit,
               kBf16Limit, kCosineLimit, kTimeLimit, missed ? "missed" : "met");
    return missed ? 1 : 0;
}

}  // namespace
}  // namespace osora::worker

int main(int count, char** arguments) {
    auto const argument = [&](int place, int otherwise) {
        return count > place ? std::stoi(arguments[place]) : otherwise;
    };
    return osora::worker::run(argument(1, 288), argument(2, 6), argument(3, 7));
}
