// How PyTorch 2.11 pickles tensors: torch/_utils.py (_rebuild_*), torch/serialization.py
// (persistent_id).
#include "worker/model/torch_pickle.hpp"

#include "worker/model/pickle.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <limits>

namespace osora::worker {
namespace {

constexpr std::size_t kSizesMax = 64;  // what LibTorch can hold
constexpr std::size_t kNameBytesMax = 4096;
constexpr std::string_view kOrderedDict = "collections\nOrderedDict";

struct StorageType {
    std::string_view name;
    std::int64_t width_bytes;
};
constexpr std::array kStorageTypes{
    StorageType{"BoolStorage", 1},         StorageType{"ByteStorage", 1},
    StorageType{"CharStorage", 1},         StorageType{"ShortStorage", 2},
    StorageType{"IntStorage", 4},          StorageType{"LongStorage", 8},
    StorageType{"HalfStorage", 2},         StorageType{"BFloat16Storage", 2},
    StorageType{"FloatStorage", 4},        StorageType{"DoubleStorage", 8},
    StorageType{"ComplexFloatStorage", 8}, StorageType{"ComplexDoubleStorage", 16}};

/// A name of the file in a message.
std::string shown(std::string_view name) {
    constexpr std::size_t kShownMax = 120;
    if (name.size() <= kShownMax) return std::string(name);
    return fmt::format("{}...", name.substr(0, kShownMax));
}

/// "torch._utils._rebuild_tensor_v2" of a global's two lines.
std::string dotted(std::string_view global) {
    std::string name = shown(global);
    std::ranges::replace(name, '\n', '.');
    return name;
}

class TensorReader {
public:
    explicit TensorReader(Pickle const& pickle) : pickle_(pickle) {}

    Result<std::vector<TorchTensor>> read() const {
        OSORA_TRY(auto const* dict, find_dict());
        std::vector<TorchTensor> tensors;
        for (std::size_t i = 0; i + 1 < dict->items.size(); i += 2) {
            OSORA_TRY(auto tensor, tensor_of(value(dict->items[i]).text, dict->items[i + 1]));
            tensors.push_back(std::move(tensor));
        }
        std::ranges::sort(tensors, {}, &TorchTensor::name);
        auto const twice = std::ranges::adjacent_find(tensors, {}, &TorchTensor::name);
        if (twice == tensors.end()) return tensors;
        return wrong(twice->name, "it is there twice");
    }

private:
    static Error wrong(std::string_view name, std::string_view why) {
        return {Errc::corrupt, fmt::format("tensor '{}': {}", shown(name), why)};
    }
    static Error not_read(std::string_view name, std::string_view why) {
        return invalid(fmt::format("tensor '{}': {}", shown(name), why));
    }

    PickleValue const& value(PickleId id) const { return pickle_.at(id); }

    /// Of a call: its arguments; nullptr when they are no tuple.
    std::vector<PickleId> const* arguments_of(PickleValue const& call) const {
        PickleValue const& arguments = value(call.items.front());
        return arguments.kind == PickleKind::tuple ? &arguments.items : nullptr;
    }

    static bool is_ordered_dict(PickleValue const& value) {
        return value.kind == PickleKind::call && value.text == kOrderedDict;
    }
    static bool is_tensor(PickleValue const& value) {
        return value.kind == PickleKind::call &&
               (value.text.starts_with("torch._utils\n_rebuild") ||
                value.text.starts_with("torch._tensor\n_rebuild"));
    }
    bool holds_tensors(PickleValue const& dict) const {
        if (dict.kind != PickleKind::dict || dict.items.empty()) return false;
        for (std::size_t i = 0; i + 1 < dict.items.size(); i += 2) {
            bool const named = value(dict.items[i]).kind == PickleKind::text;
            if (!named || !is_tensor(value(dict.items[i + 1]))) return false;
        }
        return true;
    }

    std::string kind_of(PickleValue const& value) const {
        constexpr std::array kNames{"None",  "Bool", "Int",  "Double", "String", "List",
                                    "Tuple", "Dict", "Name", "Object", "Object", "Object"};
        if (is_tensor(value)) return "Tensor";
        if (value.kind == PickleKind::call) return dotted(value.text);
        return kNames[static_cast<std::size_t>(value.kind)];
    }

    std::string described(PickleValue const& dict) const {
        constexpr std::size_t kShown = 6;
        std::vector<std::string> entries;
        for (std::size_t i = 0; i + 1 < dict.items.size(); i += 2) {
            if (entries.size() == kShown) {
                entries.emplace_back("...");
                break;
            }
            PickleValue const& key = value(dict.items[i]);
            entries.push_back(fmt::format("{} ({})",
                                          key.kind == PickleKind::text ? shown(key.text) : "?",
                                          kind_of(value(dict.items[i + 1]))));
        }
        return fmt::format("{}", fmt::join(entries, ", "));
    }

    static Error ordered() {
        return invalid("holds an OrderedDict (a module's state_dict()), not a plain dict");
    }

    Result<PickleValue const*> find_dict() const {
        PickleValue const& root = value(pickle_.root);
        if (is_ordered_dict(root)) return ordered();
        if (root.kind == PickleKind::call && !is_tensor(root)) {
            return invalid(
                fmt::format("holds an object, not a dict of tensors ({})", dotted(root.text)));
        }
        if (root.kind != PickleKind::dict) {
            return invalid(fmt::format("holds a {}, not a dict of tensors", kind_of(root)));
        }
        return holds_tensors(root) ? Result<PickleValue const*>(&root) : find_inner(root);
    }

    Result<PickleValue const*> find_inner(PickleValue const& root) const {
        std::vector<PickleValue const*> inner;
        for (std::size_t i = 0; i + 1 < root.items.size(); i += 2) {
            PickleValue const& each = value(root.items[i + 1]);
            if (is_ordered_dict(each) && each.items.size() > 1) return ordered();
            if (holds_tensors(each)) inner.push_back(&each);
        }
        if (inner.size() == 1) return inner.front();
        return invalid(fmt::format("{} dicts of tensors in it, expected one; it holds {}",
                                   inner.size(), described(root)));
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
        auto const bad = [&] { return wrong(tensor.name, "its storage is not told"); };
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
        auto const* known = std::ranges::find_if(kStorageTypes, [&](StorageType const& each) {
            return type.text == fmt::format("torch\n{}", each.name);
        });
        if (known == kStorageTypes.end()) {
            return not_read(tensor.name,
                            fmt::format("its elements are of {}, which is not read; booleans, "
                                        "integers, floats and complex numbers are",
                                        dotted(type.text)));
        }
        tensor.storage = known->name;
        tensor.width_bytes = known->width_bytes;
        tensor.record = fmt::format("data/{}", key.text);
        tensor.numel = numel.number;
        return {};
    }

    Result<TorchTensor> tensor_of(std::string_view name, PickleId id) const {
        if (name.size() > kNameBytesMax) return wrong(name, "its name has no end");
        PickleValue const* call = &value(id);
        auto const* arguments = arguments_of(*call);
        if (call->text == "torch._utils\n_rebuild_parameter" && arguments != nullptr &&
            !arguments->empty() && is_tensor(value(arguments->front()))) {
            call = &value(arguments->front());
            arguments = arguments_of(*call);
        }
        if (call->text != "torch._utils\n_rebuild_tensor_v2") {
            return not_read(name, fmt::format("made by {}, so quantized, sparse or otherwise not a "
                                              "plain tensor, which alone is read",
                                              dotted(call->text)));
        }
        if (arguments == nullptr || arguments->size() < 4) return wrong(name, "parts are missing");
        if (arguments->size() > 6 && value((*arguments)[6]).kind != PickleKind::none) {
            return not_read(name, "it has metadata (conjugated or negated), which is not read");
        }
        return plain_tensor(name, *arguments);
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

/// The number of the last element, and of all of them; nullopt where a number overflows.
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
    // Sizes beside a 0 count for nothing, but their product is a stride and must fit.
    std::int64_t bytes = 0, end = 0;
    if (__builtin_mul_overflow(extent.count, tensor.width_bytes, &bytes) ||
        __builtin_add_overflow(extent.last, 1, &end)) {
        return std::nullopt;
    }
    if (empty) return Extent{-1, 0};
    return extent;
}

/// Why the tensor cannot lie in a record of `record_bytes`; "" when it can.
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

Result<std::vector<TorchTensor>> parse_torch_pickle(std::string_view bytes) {
    OSORA_TRY(auto const pickle, read_pickle(bytes));
    return TensorReader(pickle).read();
}

Result<void> check_in_record(TorchTensor const& tensor, std::int64_t record_bytes) {
    std::string const problem = problem_in(tensor, record_bytes);
    if (problem.empty()) return {};
    return Error{Errc::corrupt,
                 fmt::format("tensor '{}': {}; its record {} holds {} bytes", shown(tensor.name),
                             problem, shown(tensor.record), record_bytes)};
}

std::int64_t bytes_of(TorchTensor const& tensor) {
    std::int64_t bytes = tensor.width_bytes;
    for (std::int64_t const size : tensor.sizes) bytes *= size;
    return bytes;
}

}  // namespace osora::worker
