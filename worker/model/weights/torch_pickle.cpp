// How PyTorch 2.11 pickles tensors: torch/_utils.py (_rebuild_*), torch/serialization.py
// (persistent_id).
#include "worker/model/weights/torch_pickle.hpp"

#include "worker/model/weights/torch_sets.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <span>

namespace osora::worker {
namespace {

constexpr std::size_t kSizesMax = 64;  // what LibTorch can hold
constexpr std::size_t kNameBytesMax = 4096;

struct ElementType {
    std::string_view
        name;  // of "torch.FloatStorage" or, of tensors in bytes, "torch.float8_e4m3fn"
    std::int64_t width_bytes;
};
constexpr std::array kStorageTypes{
    ElementType{"Bool", 1},   ElementType{"Byte", 1},         ElementType{"Char", 1},
    ElementType{"Short", 2},  ElementType{"Int", 4},          ElementType{"Long", 8},
    ElementType{"Half", 2},   ElementType{"BFloat16", 2},     ElementType{"Float", 4},
    ElementType{"Double", 8}, ElementType{"ComplexFloat", 8}, ElementType{"ComplexDouble", 16}};
constexpr std::array kNewerTypes{ElementType{"float8_e4m3fn", 1}, ElementType{"float8_e5m2", 1},
                                 ElementType{"uint16", 2}, ElementType{"uint32", 4},
                                 ElementType{"uint64", 8}};

class TensorReader {
public:
    explicit TensorReader(Pickle const& pickle) : pickle_(pickle) {}

    Result<TorchWeights> read(std::string_view wanted) const {
        OSORA_TRY(auto set, find_torch_set(pickle_, wanted));
        TorchWeights weights{{}, std::move(set.notices)};
        for (auto const& [name, id] : set.tensors) {
            OSORA_TRY(auto tensor, tensor_of(name, id));
            weights.tensors.push_back(std::move(tensor));
        }
        auto& tensors = weights.tensors;
        std::ranges::sort(tensors, {}, &TorchTensor::name);
        auto const twice = std::ranges::adjacent_find(tensors, {}, &TorchTensor::name);
        if (twice == tensors.end()) return weights;
        return wrong(twice->name, "it is there twice");
    }

private:
    static Error wrong(std::string_view name, std::string_view why) {
        return {Errc::corrupt, fmt::format("tensor '{}': {}", shown_name(name), why)};
    }
    static Error not_read(std::string_view name, std::string_view why) {
        return invalid(fmt::format("tensor '{}': {}", shown_name(name), why));
    }

    PickleValue const& value(PickleId id) const { return pickle_.at(id); }

    /// Arguments of a call; nullptr if they are not a tuple.
    std::vector<PickleId> const* arguments_of(PickleValue const& call) const {
        PickleValue const& arguments = value(call.items.front());
        return arguments.kind == PickleKind::tuple ? &arguments.items : nullptr;
    }

    Result<std::vector<std::int64_t>> numbers(std::string_view name, PickleId id) const {
        PickleValue const& tuple = value(id);
        if (tuple.kind != PickleKind::tuple) return wrong(name, "its sizes are no tuple");
        std::vector<std::int64_t> found;
        for (PickleId const each : tuple.items) {
            if (value(each).kind != PickleKind::integer) return wrong(name, "a size is no number");
            found.push_back(value(each).number);
        }
        return found;
    }

    Result<void> take_storage(TorchTensor& tensor, PickleId id) const {
        auto const bad = [&] { return wrong(tensor.name, "its storage is not described"); };
        PickleValue const& storage = value(id);
        if (storage.kind != PickleKind::persistent) return bad();
        PickleValue const& parts = value(storage.items.front());
        if (parts.kind != PickleKind::tuple || parts.items.size() < 5) return bad();
        PickleValue const &type = value(parts.items[1]), &key = value(parts.items[2]),
                          &numel = value(parts.items[4]);
        if (value(parts.items[0]).text != "storage" || type.kind != PickleKind::global ||
            key.kind != PickleKind::text || key.text.size() > kNameBytesMax ||
            numel.kind != PickleKind::integer) {
            return bad();
        }
        auto const view = parts.items.size() > 5 ? value(parts.items[5]).kind : PickleKind::none;
        if (view != PickleKind::none) return not_read(tensor.name, "its storage is a view");
        tensor.type = dotted_name(type.text);
        tensor.record = fmt::format("data/{}", key.text);
        tensor.numel = numel.number;
        return {};
    }

    /// `type`: "torch.FloatStorage"; the prefix and the ending are left out.
    static Result<void> take_type(TorchTensor& tensor, std::span<ElementType const> types,
                                  std::string_view ending) {
        auto const known = std::ranges::find_if(types, [&](ElementType const& each) {
            return tensor.type == fmt::format("torch.{}{}", each.name, ending);
        });
        if (known == types.end()) {
            return not_read(tensor.name,
                            fmt::format("its elements are of {}, which is not read; booleans, "
                                        "integers, floats and complex numbers are",
                                        tensor.type));
        }
        tensor.type = known->name;
        tensor.width_bytes = known->width_bytes;
        return {};
    }

    /// What makes the tensor inside of parameters, buffers and subclasses of theirs.
    struct Call {
        std::string_view function;
        std::vector<PickleId> const* arguments;
    };
    Call made_by(Call call) const {
        constexpr int kNested = 4;
        for (int i = 0; i < kNested && call.arguments != nullptr && !call.arguments->empty(); ++i) {
            PickleValue const& first = value(call.arguments->front());
            if (call.function.starts_with("torch._utils\n_rebuild_parameter")) {
                if (!makes_tensor(first)) break;
                call = {first.text, arguments_of(first)};
            } else if (call.function == "torch._tensor\n_rebuild_from_type_v2") {
                auto const inner = of_own_type(*call.arguments);
                if (inner.arguments == nullptr) break;
                call = inner;
            } else {
                break;
            }
        }
        return call;
    }
    /// _rebuild_from_type_v2(function, type, arguments, state) of a type that adds nothing.
    Call of_own_type(std::vector<PickleId> const& arguments) const {
        if (arguments.size() < 3) return {{}, nullptr};
        std::string_view const type = value(arguments[1]).text;
        bool const plain = type == "torch.nn.parameter\nParameter" ||
                           type == "torch.nn.parameter\nBuffer" || type == "torch\nTensor" ||
                           type == "torch._tensor\nTensor";
        PickleValue const& inner = value(arguments[2]);
        if (!plain || inner.kind != PickleKind::tuple) return {{}, nullptr};
        return {value(arguments[0]).text, &inner.items};
    }

    Result<TorchTensor> tensor_of(std::string_view name, PickleId id) const {
        if (name.size() > kNameBytesMax) return wrong(name, "its name has no end");
        auto const [function, arguments] = made_by({value(id).text, arguments_of(value(id))});
        bool const newer = function == "torch._utils\n_rebuild_tensor_v3";
        bool const known = newer || function == "torch._utils\n_rebuild_tensor_v2" ||
                           function == "torch._utils\n_rebuild_tensor";
        if (!known) {
            return not_read(name, fmt::format("made by {}, so quantized, sparse or otherwise not a "
                                              "plain tensor, which alone is read",
                                              dotted_name(function)));
        }
        std::size_t const least = newer ? 7 : 4, metadata = newer ? 7 : 6;
        if (arguments == nullptr || arguments->size() < least) {
            return wrong(name, "parts are missing");
        }
        if (arguments->size() > metadata &&
            value((*arguments)[metadata]).kind != PickleKind::none) {
            return not_read(name, "it has metadata (conjugated or negated), which is not read");
        }
        OSORA_TRY(auto tensor, plain_tensor(name, *arguments));
        if (newer) tensor.type = dotted_name(value((*arguments)[6]).text);
        OSORA_TRY_VOID(newer ? take_type(tensor, kNewerTypes, "")
                             : take_type(tensor, kStorageTypes, "Storage"));
        // Storages without a type are counted in bytes.
        if (newer) tensor.numel /= tensor.width_bytes;
        return tensor;
    }

    Result<TorchTensor> plain_tensor(std::string_view name,
                                     std::vector<PickleId> const& arguments) const {
        TorchTensor tensor;
        tensor.name = name;
        OSORA_TRY_VOID(take_storage(tensor, arguments[0]));
        if (value(arguments[1]).kind != PickleKind::integer) {
            return wrong(name, "its offset is no number");
        }
        tensor.offset = value(arguments[1]).number;
        OSORA_TRY(tensor.sizes, numbers(name, arguments[2]));
        OSORA_TRY(tensor.strides, numbers(name, arguments[3]));
        return tensor;
    }

    Pickle const& pickle_;
};

/// The number of the last element, and of all of them; nullopt if a number overflows.
struct Extent {
    std::int64_t last = 0, count = 1;
};
std::optional<Extent> extent_of(TorchTensor const& tensor) {
    Extent extent{tensor.offset, 1};
    bool empty = false;
    for (std::size_t i = 0; i < tensor.sizes.size(); ++i) {
        std::int64_t const size = tensor.sizes[i];
        empty = empty || size == 0;
        if (size == 0) continue;
        std::int64_t way = 0;
        if (__builtin_mul_overflow(size - 1, tensor.strides[i], &way) ||
            __builtin_add_overflow(extent.last, way, &extent.last) ||
            __builtin_mul_overflow(extent.count, size, &extent.count)) {
            return std::nullopt;
        }
    }
    // Sizes next to a 0 have no effect, but their product is a stride and must fit.
    std::int64_t bytes = 0, end = 0;
    if (__builtin_mul_overflow(extent.count, tensor.width_bytes, &bytes) ||
        __builtin_add_overflow(extent.last, 1, &end)) {
        return std::nullopt;
    }
    if (empty) return Extent{-1, 0};
    return extent;
}

/// Why the tensor cannot be in a record of `record_bytes`; "" if it can.
std::string problem_in(TorchTensor const& tensor, std::int64_t record_bytes) {
    auto const negative = [](std::int64_t each) { return each < 0; };
    if (tensor.sizes.size() != tensor.strides.size() || tensor.sizes.size() > kSizesMax) {
        return fmt::format("{} sizes and {} strides", tensor.sizes.size(), tensor.strides.size());
    }
    if (tensor.offset < 0) return fmt::format("it begins at element {}", tensor.offset);
    if (std::ranges::any_of(tensor.sizes, negative) ||
        std::ranges::any_of(tensor.strides, negative)) {
        return "a size or stride is below 0";
    }
    std::int64_t const holds = record_bytes / tensor.width_bytes;
    if (tensor.numel < 0 || tensor.numel > holds) {
        return fmt::format("it claims {} elements of {} bytes", tensor.numel, tensor.width_bytes);
    }
    auto const extent = extent_of(tensor);
    if (!extent) return "its size overflows";
    if (extent->last < tensor.numel) return "";
    return fmt::format("it claims elements {} to {} of {} bytes", tensor.offset, extent->last,
                       tensor.width_bytes);
}

}  // namespace

Result<TorchWeights> torch_weights(Pickle const& pickle, std::string_view wanted) {
    return TensorReader(pickle).read(wanted);
}

Result<TorchWeights> parse_torch_pickle(std::string_view bytes, std::string_view wanted) {
    OSORA_TRY(auto const pickle, read_pickle(bytes));
    return torch_weights(pickle, wanted);
}

std::int64_t width_of_storage(std::string_view global) {
    auto const* found = std::ranges::find_if(kStorageTypes, [&](ElementType const& each) {
        return global == fmt::format("torch\n{}Storage", each.name);
    });
    return found == kStorageTypes.end() ? 0 : found->width_bytes;
}

Result<void> check_in_record(TorchTensor const& tensor, std::int64_t record_bytes) {
    std::string const problem = problem_in(tensor, record_bytes);
    if (problem.empty()) return {};
    return Error{Errc::corrupt, fmt::format("tensor '{}': {}; its record {} holds {} bytes",
                                            shown_name(tensor.name), problem,
                                            shown_name(tensor.record), record_bytes)};
}

std::int64_t bytes_of(TorchTensor const& tensor) {
    std::int64_t bytes = tensor.width_bytes;
    for (std::int64_t const size : tensor.sizes) bytes *= size;
    return bytes;
}

}  // namespace osora::worker
