#include "worker/jobs/rehearse/meta_kernels.hpp"

#include <ATen/ExpandUtils.h>
#include <ATen/OpMathType.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/result_type.h>
#include <fmt/format.h>
#include <torch/library.h>

#include <array>
#include <string>
#include <utility>
#include <vector>

namespace osora::worker {
namespace {

at::Tensor& complex_out(at::Tensor const& real, at::Tensor const& /*imaginary*/, at::Tensor& out) {
    return out.resize_(real.sizes()), out;
}

at::Tensor& abs_out(at::Tensor const& x, at::Tensor& out) {
    return out.resize_(x.sizes()), out;
}

std::vector<std::int64_t> chosen_sizes(at::Tensor const& condition, at::Tensor const& one,
                                       at::Tensor const& other) {
    return at::infer_size(condition.sizes(), at::infer_size(one.sizes(), other.sizes()));
}

at::Tensor chosen(at::Tensor const& condition, at::Tensor const& one, at::Tensor const& other) {
    return at::empty(chosen_sizes(condition, one, other),
                     one.options().dtype(at::result_type(one, other)));
}

at::Tensor& chosen_out(at::Tensor const& condition, at::Tensor const& one, at::Tensor const& other,
                       at::Tensor& out) {
    return out.resize_(chosen_sizes(condition, one, other)), out;
}

using Stack = torch::jit::Stack;

/// The arguments, of which `count` are on the stack; `results` replace them.
template <class Made>
void replace(Stack& stack, std::size_t count, Made const& make) {
    auto const arguments = torch::jit::last(stack, count).vec();
    auto const results = make(arguments);
    torch::jit::drop(stack, count);
    for (at::Tensor const& each : results) stack.emplace_back(each);
}

/// LibTorch's layer_norm on the meta device uses it: x, weight, bias, mean, variance, training,
/// momentum, eps.
void batch_norm(c10::OperatorHandle const& /*operation*/, Stack* stack) {
    replace(*stack, 8, [](std::vector<c10::IValue> const& of) {
        at::Tensor const x = of[0].toTensor();
        auto const options = x.options().dtype(at::toOpMathType(x.scalar_type()));
        at::Tensor const mean = at::empty({x.size(1)}, options);
        return std::array{at::empty_like(x), mean, at::empty_like(mean)};
    });
}

/// gradient, x, shape, mean, inverse deviation, weight, bias, which gradients are wanted.
void layer_norm_backward(c10::OperatorHandle const& /*operation*/, Stack* stack) {
    replace(*stack, 8, [](std::vector<c10::IValue> const& of) {
        auto const wanted = of[7].toBoolList();
        auto const like = [&](std::size_t which, c10::IValue const& value) {
            bool const made = wanted.get(which) && value.isTensor() && value.toTensor().defined();
            return made ? at::empty_like(value.toTensor()) : at::Tensor();
        };
        return std::array{like(0, of[1]), like(1, of[5]), like(2, of[6])};
    });
}

template <class Kernel>
void add_if_missing(torch::Library& library, char const* name, char const* overload,
                    Kernel&& kernel) {
    auto const known = c10::Dispatcher::singleton().findSchema({name, overload});
    if (!known || known->hasKernelForDispatchKey(c10::DispatchKey::Meta)) return;
    std::string const full =
        *overload == '\0' ? std::string(name) : fmt::format("{}.{}", name, overload);
    library.impl(full.c_str(), std::forward<Kernel>(kernel));
}

}  // namespace

void add_meta_kernels() {
    static torch::Library library = [] {
        torch::Library made(torch::Library::IMPL, "aten", c10::DispatchKey::Meta, __FILE__,
                            __LINE__);
        add_if_missing(made, "aten::abs", "out", abs_out);
        add_if_missing(made, "aten::complex", "out", complex_out);
        add_if_missing(made, "aten::where", "self", chosen);
        add_if_missing(made, "aten::where", "self_out", chosen_out);
        add_if_missing(made, "aten::native_batch_norm", "",
                       torch::CppFunction::makeFromBoxedFunction<&batch_norm>());
        add_if_missing(made, "aten::native_layer_norm_backward", "",
                       torch::CppFunction::makeFromBoxedFunction<&layer_norm_backward>());
        return made;
    }();
}

}  // namespace osora::worker
