// Stores on a device whose backward passes run on a thread of its own, as a GPU's do.
#include "tests/unit/worker/memory/made_up_device.hpp"
#include "worker/memory/activation_store.hpp"
#include "worker/memory/recompute.hpp"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>
#include <thread>

namespace osora::worker {
namespace {

struct Gradients {
    at::Tensor of_input, of_weight;  // on the CPU
    std::thread::id thread;          // that computed the part
};

/// Of a layer that is computed again in backward, between two that are not.
Gradients gradients(c10::Device device, StoreForm form) {
    auto generator = at::make_generator<at::CPUGeneratorImpl>(5);
    at::Tensor input = at::randn({64, 32}, generator).to(device).requires_grad_(true);
    at::Tensor weight = at::randn({32, 32}, generator).to(device).requires_grad_(true);
    Gradients found;
    auto const part = [&](std::vector<at::Tensor> const& of) {
        found.thread = std::this_thread::get_id();
        return std::vector{at::gelu(of[0].matmul(weight))};
    };
    ActivationStore store({.form = form, .least_bytes = 0});
    at::Tensor loss;
    {
        ActivationStore::Scope const scope(store, {weight}, 0);
        at::Tensor const first = at::gelu(input.mul(0.5));
        at::Tensor const second = recompute(part, {first}, {weight})[0];
        loss = at::gelu(second).square().mean();
    }
    loss.backward();
    found.of_input = input.grad().cpu();
    found.of_weight = weight.grad().cpu();
    EXPECT_EQ(store.total().packed > 0, form != StoreForm::none);
    return found;
}

double cosine(at::Tensor const& a, at::Tensor const& b) {
    return a.mul(b).sum().item<double>() /
           std::sqrt(a.square().sum().item<double>() * b.square().sum().item<double>());
}

/// LibTorch starts the device's thread with the first pass of the process, which has no store.
TEST(DeviceThread, AStoreWorksAfterPassesWithoutOne) {
    Gradients const exact = gradients(at::kCPU, StoreForm::none);
    Gradients const plain = gradients(made_up_device(), StoreForm::none);
    EXPECT_EQ(exact.thread, std::this_thread::get_id());
    EXPECT_NE(plain.thread, std::this_thread::get_id()) << "the device has no thread";
    EXPECT_TRUE(plain.of_input.equal(exact.of_input));
    EXPECT_TRUE(plain.of_weight.equal(exact.of_weight));
    for (StoreForm const form : {StoreForm::int8, StoreForm::bf16, StoreForm::offload}) {
        Gradients const stored = gradients(made_up_device(), form);
        EXPECT_EQ(stored.thread, plain.thread);
        EXPECT_GT(cosine(stored.of_input, exact.of_input), 0.999) << static_cast<int>(form);
        EXPECT_GT(cosine(stored.of_weight, exact.of_weight), 0.999) << static_cast<int>(form);
        EXPECT_EQ(stored.of_input.equal(exact.of_input), form == StoreForm::offload);
    }
    EXPECT_TRUE(gradients(made_up_device(), StoreForm::none).of_input.equal(exact.of_input));
}

/// Copies to and from the host happen when somebody waits for them: too late for memory that was
/// given back, and not at all for values that are read before.
TEST(DeviceThread, OffloadCopiesBesideThePasses) {
    Gradients const exact = gradients(at::kCPU, StoreForm::none);
    auto const before = side_copy_counts();
    for (int pass = 0; pass < 3; ++pass) {
        Gradients const stored = gradients(made_up_device(), StoreForm::offload);
        EXPECT_TRUE(stored.of_input.equal(exact.of_input)) << pass;
        EXPECT_TRUE(stored.of_weight.equal(exact.of_weight)) << pass;
    }
    auto const after = side_copy_counts();
    EXPECT_GE(after.done - before.done, 3 * 2 * 4);  // each tensor once each way
    EXPECT_EQ(after.lost, 0);
}

/// Nobody asks for the values of a pass that is dropped; some were on their way back.
TEST(DeviceThread, APassThatIsDroppedWaitsForItsCopies) {
    auto generator = at::make_generator<at::CPUGeneratorImpl>(5);
    at::Tensor x = at::randn({64, 32}, generator).to(made_up_device()).requires_grad_(true);
    for (bool const begins_backward : {false, true}) {
        ActivationStore store({.form = StoreForm::offload, .least_bytes = 0});
        at::Tensor loss;
        {
            ActivationStore::Scope const scope(store, {}, 0);
            at::Tensor y = x.mul(0.5);
            for (int layer = 0; layer < 4; ++layer) {
                y = at::gelu(y);
                if (layer == 1)
                    y.register_hook(
                        [](at::Tensor const&) -> at::Tensor { throw std::runtime_error("stop"); });
            }
            loss = y.square().mean();
        }
        if (begins_backward) {
            EXPECT_ANY_THROW(loss.backward());
        }
        loss.reset();
        EXPECT_GE(store.total().packed, 5);
    }
    EXPECT_EQ(side_copy_counts().lost, 0);
}

}  // namespace
}  // namespace osora::worker
