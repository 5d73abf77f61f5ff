// What a store keeps, gives back and lets go of, against the tensors that were saved and the
// gradients without it.
#include "worker/memory/activation_store.hpp"
#include "plan/activation_choice.hpp"
#include "small_models.hpp"
#include "tests/kit/counted_memory.hpp"
#include "worker/memory/packed.hpp"
#include "worker/memory/value_rows.hpp"

#include <ATen/Context.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/nan_to_num.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/ones_like.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <utility>

namespace osora::worker {
namespace {

StoreOptions options_of(StoreForm form) {
    StoreOptions options;
    options.form = form;
    options.least_bytes = 0;
    return options;
}

std::vector<at::Tensor> weights_of(Parameters const& parameters) {
    std::vector<at::Tensor> tensors;
    for (auto const& each : parameters.all()) tensors.push_back(each.tensor);
    return tensors;
}

std::vector<std::pair<char const*, at::Tensor>> hostile_tensors() {
    at::manual_seed(5);
    at::Tensor const base = at::randn({6, 40, 36});
    at::Tensor outlier = at::randn({5000});
    outlier[77] = 1e30;
    at::Tensor infinite = at::randn({300});
    infinite[13] = std::numeric_limits<double>::infinity();
    at::Tensor nan = at::randn({300});
    nan[13] = std::numeric_limits<double>::quiet_NaN();
    return {{"plain", base},
            {"transposed", base.transpose(0, 2)},
            {"narrow", base.narrow(2, 5, 20)},
            {"every third row", base.slice(1, 1, 40, 3)},
            {"every second value", base.slice(2, 0, 36, 2)},
            {"unbound", base.view({6, 40, 2, 18}).unbind(2)[1]},
            {"permuted slice", base.narrow(1, 3, 30).permute({2, 0, 1})},
            {"expanded", at::randn({1, 40}).expand({30, 40})},
            {"zeros", at::zeros({1000})},
            {"outlier", outlier},
            {"infinite", infinite},
            {"nan", nan},
            {"empty", at::zeros({0, 7})},
            {"one", at::full({1}, 3.5)},
            {"tiny values", at::randn({1000}).mul(1e-39)},
            {"bf16", base.to(at::kBFloat16)},
            {"bf16 narrow", base.to(at::kBFloat16).narrow(2, 5, 20)},
            {"fp16", base.to(at::kHalf)},
            {"double", base.to(at::kDouble)}};
}

/// The tensor as backward would see it.
at::Tensor restored(StoreForm form, at::Tensor const& tensor) {
    ActivationStore store(options_of(form));
    at::Tensor const leaf = at::ones_like(tensor, tensor.options(), at::MemoryFormat::Contiguous)
                                .set_requires_grad(true);
    at::Tensor out;
    {
        ActivationStore::Scope const scope(store, {}, 0);
        out = leaf.mul(tensor);
    }
    at::Tensor const ones = at::ones_like(out);
    out.backward(ones);
    return leaf.grad();
}

TEST(ActivationStore, HostileTensorsComeBack) {
    for (auto const& [name, tensor] : hostile_tensors()) {
        at::Tensor const same = restored(StoreForm::offload, tensor);
        EXPECT_TRUE(at::equal(at::nan_to_num(same), at::nan_to_num(tensor))) << name;
        for (StoreForm const form : {StoreForm::bf16, StoreForm::int8}) {
            at::Tensor const back = restored(form, tensor);
            ASSERT_EQ(back.sizes(), tensor.sizes()) << name;
            at::Tensor const finite = tensor.isfinite();
            EXPECT_TRUE(back.isfinite().equal(finite)) << name;
            double const error = back.sub(tensor).masked_select(finite).norm().item<double>();
            double const size = tensor.masked_select(finite).norm().item<double>();
            EXPECT_LE(error, (form == StoreForm::int8 ? 0.02 : 0.004) * size) << name;
        }
    }
}

TEST(ActivationStore, RoundingIsThatOfTheDefinition) {
    for (auto const& [name, tensor] : hostile_tensors()) {
        if (tensor.numel() == 0 || repeats_values(tensor)) continue;
        if (tensor.scalar_type() == at::kDouble) continue;
        auto const by_loops = pack_int8(tensor, {});
        auto const by_operators = pack_int8_by_operators(tensor);
        ASSERT_EQ(by_loops.packed == nullptr, !tensor.isfinite().all().item<bool>()) << name;
        if (!by_loops.packed || !by_operators.packed) continue;  // squares of 1e30
        at::Tensor const a = by_loops.packed->values(), b = by_operators.packed->values();
        // Scales may differ by their last bit, results by that of a type with fewer, and values
        // between two codes by a step.
        double const largest = tensor.abs().max().item<double>();
        double const last_bit = tensor.scalar_type() == at::kFloat ? 0 : 1.0 / 128;
        at::Tensor const off = a.to(at::kFloat).sub(b).abs();
        double const near = largest * (1e-3 / 127 + last_bit) + 2e-38;
        EXPECT_LE(off.gt(near).sum().item<std::int64_t>(), off.numel() / 1000) << name;
        EXPECT_LE(off.max().item<double>(), near + largest / 127) << name;
    }
}

TEST(ActivationStore, WhatIsNotPacked) {
    at::Tensor const weight = at::randn({64, 64}).set_requires_grad(true);
    at::Tensor const x = at::randn({64, 64}).set_requires_grad(true);
    ActivationStore store(options_of(StoreForm::int8));
    {
        ActivationStore::Scope const scope(store, {weight}, 0);
        at::Tensor const of_weight = at::linear(x.detach(), weight.narrow(0, 3, 20));
        EXPECT_EQ(store.total().packed, 1);    // x
        static_cast<void>(weight.t().mul(x));  // saves both: x is packed already
        EXPECT_EQ(store.total().packed, 1);
        EXPECT_EQ(store.total().shared, 1);
        static_cast<void>(x.mul(at::ones({64, 64}, at::kLong)));  // integers
        static_cast<void>(x.mul(at::randn({64, 1})));             // a statistic of each row
        EXPECT_EQ(store.total().packed, 1);
    }
    StoreOptions large = options_of(StoreForm::int8);
    large.least_bytes = 4 * 64 * 64 + 1;
    ActivationStore not_small(large);
    ActivationStore::Scope const scope(not_small, {}, 0);
    static_cast<void>(x.square());
    EXPECT_EQ(not_small.total().packed, 0);
}

TEST(ActivationStore, PackedOnceAndUnpackedOnce) {
    at::Tensor const x = at::randn({32, 32}).set_requires_grad(true);
    at::Tensor const y = x.mul(2);
    ActivationStore store(options_of(StoreForm::int8));
    ActivationStore::Scope const scope(store, {}, 0);
    at::Tensor const a = y.square();
    at::Tensor const b = y.view({1024}).square();  // a view of the same values
    at::Tensor const c = y.t().square();
    at::Tensor const d = y.narrow(0, 4, 8).square();  // a part of them
    EXPECT_EQ(store.total().packed, 1);
    EXPECT_EQ(store.total().shared, 3);
    {
        at::NoGradGuard const no_graph;
        y.add_(1);
    }
    static_cast<void>(y.square());  // other values in the same memory
    EXPECT_EQ(store.total().packed, 2);
    EXPECT_EQ(store.total().packed_bytes, 2 * (1024 + 8 * 4));
    auto const packed = pack_int8(x.detach(), {}).packed;
    at::Tensor const first = packed->values();
    EXPECT_TRUE(first.is_alias_of(packed->values()));
}

TEST(ActivationStore, AnAddressThatIsUsedAgainIsAnotherTensor) {
    ActivationStore store(options_of(StoreForm::bf16));
    ActivationStore::Scope const scope(store, {}, 0);
    at::Tensor const leaf = at::ones({1 << 14}).set_requires_grad(true);
    std::vector<at::Tensor> outs;
    for (int i = 0; i < 20; ++i) outs.push_back(leaf.mul(at::full({1 << 14}, i)));
    for (int i = 0; i < 20; ++i) {
        outs[static_cast<std::size_t>(i)].sum().backward();
        EXPECT_EQ(leaf.grad()[5].item<int>(), i);
        leaf.mutable_grad() = at::Tensor();
    }
}

TEST(ActivationStore, TheOriginalIsNotHeld) {
    constexpr std::int64_t kBytes = 4 << 20;
    auto const held = [](StoreForm form) {
        ActivationStore store(options_of(form));
        at::Tensor const leaf = at::ones({kBytes / 4}).set_requires_grad(true);
        CountedMemory const counted;
        ActivationStore::Scope const scope(store, {}, 0);
        std::vector<at::Tensor> outs;
        for (int i = 0; i < 10; ++i) outs.push_back(leaf.mul(at::randn({kBytes / 4})).sum());
        return static_cast<double>(counted.peak_bytes()) / kBytes;
    };
    EXPECT_GT(held(StoreForm::none), 10);
    EXPECT_LT(held(StoreForm::bf16), 10 * 0.5 + 2.1);
    EXPECT_LT(held(StoreForm::int8), 10 * 0.26 + 2.1);
    EXPECT_LT(held(StoreForm::offload), 2.1);
}

TEST(ActivationStore, AChangedTensorIsAnError) {
    at::Tensor const small = at::randn({4, 4}).set_requires_grad(true);
    StoreOptions options = options_of(StoreForm::int8);
    options.least_bytes = 1 << 20;
    ActivationStore store(options);
    at::Tensor y, out;
    {
        ActivationStore::Scope const scope(store, {}, 0);
        y = small.mul(1);
        out = y.square();
    }
    {
        at::NoGradGuard const no_graph;
        y.add_(1);
    }
    EXPECT_THROW(out.sum().backward(), c10::Error);
}

template <typename Model>
std::vector<at::Tensor> stored_gradients(Model& small, ActivationStore& store) {
    small.model->parameters().clear_gradients();
    at::Tensor loss;
    {
        ActivationStore::Scope const scope(store, weights_of(small.model->parameters()), 3);
        loss = small.loss();
    }
    loss.backward();
    std::vector<at::Tensor> found;
    for (auto const& each : small.model->parameters().trainable())
        found.push_back(each.grad().defined() ? each.grad().clone() : at::Tensor());
    small.model->parameters().clear_gradients();
    return found;
}

double cosine(std::vector<at::Tensor> const& a, std::vector<at::Tensor> const& b) {
    double both = 0, of_a = 0, of_b = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        if (!a[i].defined()) continue;
        both += a[i].mul(b[i]).sum().item<double>();
        of_a += a[i].square().sum().item<double>();
        of_b += b[i].square().sum().item<double>();
    }
    return both / std::sqrt(of_a * of_b);
}

template <typename Model>
void expect_gradients(Model& small) {
    auto const exact = gradients_of_loss(small);
    ActivationStore offload(options_of(StoreForm::offload));
    auto const same = stored_gradients(small, offload);
    for (std::size_t i = 0; i < exact.size(); ++i) {
        if (!exact[i].defined()) continue;
        EXPECT_TRUE(exact[i].equal(same[i])) << i << exact[i].sizes();
    }
    EXPECT_GT(offload.total().host_bytes, 0);
    EXPECT_GT(offload.total().remade, 0);
    for (auto const& [form, least] :
         {std::pair(StoreForm::bf16, 0.99999), std::pair(StoreForm::int8, 0.999)}) {
        ActivationStore store(options_of(form));
        EXPECT_GT(cosine(exact, stored_gradients(small, store)), least);
        EXPECT_GT(store.total().packed, 0);
    }
    StoreOptions dithered = options_of(StoreForm::int8);
    dithered.stochastic = true;
    ActivationStore one(dithered), two(dithered);
    auto const first = stored_gradients(small, one), second = stored_gradients(small, two);
    EXPECT_GT(cosine(exact, first), 0.998);
    EXPECT_EQ(cosine(first, second), cosine(first, first));
}

TEST(ActivationStore, GradientsOfStdit3) {
    SmallStdit3 small;
    expect_gradients(small);
}
TEST(ActivationStore, GradientsOfMmdit) {
    for (bool const fused : {false, true}) {
        SmallMmdit small(fused);
        expect_gradients(small);
    }
}

TEST(ActivationStore, WithRecompute) {
    SmallStdit3 small;
    auto const exact = gradients_of_loss(small);
    for (char const* policy : {"selective", "1", "full"}) {
        small.model->set_recompute(
            std::make_shared<plan::RecomputeChoice const>(plan::recompute_choice(policy).value()));
        ActivationStore store(options_of(StoreForm::offload));
        auto const same = stored_gradients(small, store);
        for (std::size_t i = 0; i < exact.size(); ++i) {
            if (!exact[i].defined()) continue;
            EXPECT_TRUE(exact[i].equal(same[i])) << policy << i;
        }
    }
}

}  // namespace
}  // namespace osora::worker
