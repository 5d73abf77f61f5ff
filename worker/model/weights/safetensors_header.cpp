#include "worker/model/weights/safetensors_header.hpp"

#include "base/check.hpp"

#include <fmt/format.h>
#include <boost/json.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <optional>

namespace osora::worker {
namespace {

namespace json = boost::json;

constexpr std::int64_t kLengthBytes = 8;
constexpr std::int64_t kHeaderLimitBytes = 100'000'000;  // as the safetensors library
constexpr std::size_t kDimensionLimit = 64;              // what LibTorch can hold

struct Type {
    DType type;
    std::string_view name;
    std::int64_t bytes;
};
constexpr std::array kTypes{Type{DType::boolean, "BOOL", 1},    Type{DType::u8, "U8", 1},
                            Type{DType::i8, "I8", 1},           Type{DType::i16, "I16", 2},
                            Type{DType::i32, "I32", 4},         Type{DType::i64, "I64", 8},
                            Type{DType::f8_e4m3, "F8_E4M3", 1}, Type{DType::f8_e5m2, "F8_E5M2", 1},
                            Type{DType::f16, "F16", 2},         Type{DType::bf16, "BF16", 2},
                            Type{DType::f32, "F32", 4},         Type{DType::f64, "F64", 8}};

Type const& type_of(DType type) {
    return *std::ranges::find(kTypes, type, &Type::type);
}

Error corrupt_header(std::string message) {
    return Error{Errc::corrupt, "safetensors header: " + std::move(message)};
}

/// A number in [0, 2^63): JSON integers only, so 3.0 and 1e3 are refused too.
std::optional<std::int64_t> as_size(json::value const& value) {
    if (auto const* number = value.if_int64(); number != nullptr && *number >= 0) return *number;
    return std::nullopt;  // uint64 here is above the signed range
}

/// Product of the sizes and `bytes`; nothing when it does not fit in 63 bits.
std::optional<std::int64_t> total_bytes(std::vector<std::int64_t> const& shape,
                                        std::int64_t bytes) {
    // A size of 0 makes the tensor empty whatever the others are, but strides are products of
    // the others: those must fit as well.
    std::int64_t total = bytes;
    bool empty = false;
    for (std::int64_t const size : shape) {
        if (size == 0) {
            empty = true;
            continue;
        }
        if (total > std::numeric_limits<std::int64_t>::max() / size) return std::nullopt;
        total *= size;
    }
    return empty ? 0 : total;
}

Result<TensorInfo> parse_tensor(std::string_view name, json::value const& value) {
    auto const wrong = [&](std::string_view why) {
        return corrupt_header(fmt::format("tensor '{}': {}", name, why));
    };
    auto const* object = value.if_object();
    if (object == nullptr) return wrong("not an object");
    auto const* dtype = object->if_contains("dtype");
    auto const* shape = object->if_contains("shape");
    auto const* offsets = object->if_contains("data_offsets");
    if (object->size() != 3 || dtype == nullptr || shape == nullptr || offsets == nullptr)
        return wrong("needs exactly dtype, shape and data_offsets");
    if (!dtype->is_string() || !shape->is_array() || !offsets->is_array())
        return wrong("dtype, shape or data_offsets has a wrong type");
    auto const* type =
        std::ranges::find(kTypes, std::string_view(dtype->get_string()), &Type::name);
    if (type == kTypes.end())
        return wrong(
            fmt::format("dtype '{}' is not supported", std::string_view(dtype->get_string())));
    TensorInfo info{std::string(name), type->type, {}, 0, 0};
    if (shape->get_array().size() > kDimensionLimit) return wrong("too many dimensions");
    for (auto const& size : shape->get_array()) {
        auto const number = as_size(size);
        if (!number) return wrong("a size is not a non-negative integer");
        info.shape.push_back(*number);
    }
    auto const& range = offsets->get_array();
    auto const begin = range.size() == 2 ? as_size(range[0]) : std::nullopt;
    auto const end = range.size() == 2 ? as_size(range[1]) : std::nullopt;
    if (!begin || !end || *begin > *end) return wrong("data_offsets are not [begin, end]");
    auto const bytes = total_bytes(info.shape, type->bytes);
    if (!bytes) return wrong("its size overflows");
    if (*bytes != *end - *begin)
        return wrong(
            fmt::format("{} bytes at its offsets, {} by its shape", *end - *begin, *bytes));
    info.begin_bytes = *begin;
    info.end_bytes = *end;
    return info;
}

Result<std::map<std::string, std::string>> parse_metadata(json::value const& value) {
    auto const* object = value.if_object();
    if (object == nullptr) return corrupt_header("__metadata__ is not an object");
    std::map<std::string, std::string> metadata;
    for (auto const& [key, text] : *object) {
        if (!text.is_string())
            return corrupt_header("__metadata__ holds something that is not text");
        metadata.emplace(std::string_view(key), std::string_view(text.get_string()));
    }
    return metadata;
}

/// The tensors must fill the data section from end to end, each byte once.
Result<void> check_layout(SafetensorsHeader& header, std::int64_t data_bytes) {
    std::ranges::sort(header.tensors, {}, [](TensorInfo const& tensor) {
        return std::tuple(tensor.begin_bytes, tensor.end_bytes, std::string_view(tensor.name));
    });
    std::int64_t at = 0;
    for (auto const& tensor : header.tensors) {
        if (tensor.begin_bytes != at)
            return corrupt_header(
                fmt::format("tensor '{}': starts at {}, the one before ends at {}", tensor.name,
                            tensor.begin_bytes, at));
        at = tensor.end_bytes;
    }
    if (at != data_bytes)
        return corrupt_header(
            fmt::format("tensors end at {}, the file has {} bytes of data", at, data_bytes));
    return {};
}

std::uint64_t length_field(std::string_view first_8) {
    std::uint64_t length = 0;
    for (int i = 7; i >= 0; --i)
        length = (length << 8) | static_cast<unsigned char>(first_8[static_cast<std::size_t>(i)]);
    return length;
}

}  // namespace

std::int64_t bytes_of(DType type) {
    return type_of(type).bytes;
}
std::string_view name_of(DType type) {
    return type_of(type).name;
}

Result<std::int64_t> safetensors_header_bytes(std::string_view first_8, std::int64_t file_bytes) {
    if (first_8.size() < kLengthBytes || file_bytes < kLengthBytes)
        return corrupt_header(fmt::format("the file has {} bytes, fewer than 8", file_bytes));
    std::uint64_t const length = length_field(first_8);
    if (length > static_cast<std::uint64_t>(kHeaderLimitBytes))
        return corrupt_header(fmt::format("a length of {} is above {}", length, kHeaderLimitBytes));
    if (static_cast<std::int64_t>(length) > file_bytes - kLengthBytes)
        return corrupt_header(
            fmt::format("a length of {} is more than the file's {} bytes", length, file_bytes));
    return kLengthBytes + static_cast<std::int64_t>(length);
}

Result<SafetensorsHeader> parse_safetensors_header(std::string_view head, std::int64_t file_bytes) {
    OSORA_TRY(auto const head_bytes, safetensors_header_bytes(head, file_bytes));
    if (static_cast<std::int64_t>(head.size()) < head_bytes)
        return corrupt_header("it is cut short");
    std::string_view const text =
        head.substr(kLengthBytes, static_cast<std::size_t>(head_bytes - kLengthBytes));
    if (text.empty() || text.front() != '{') return corrupt_header("it does not start with '{'");
    boost::system::error_code failed;
    auto const value = json::parse(text, failed);  // refuses bytes that are not UTF-8
    if (failed) return corrupt_header(failed.message());
    SafetensorsHeader header;
    header.data_offset_bytes = head_bytes;
    for (auto const& [key, entry] : value.get_object()) {
        if (std::string_view(key) == "__metadata__") {
            OSORA_TRY(header.metadata, parse_metadata(entry));
            continue;
        }
        OSORA_TRY(auto info, parse_tensor(key, entry));
        header.tensors.push_back(std::move(info));
    }
    OSORA_TRY_VOID(check_layout(header, file_bytes - head_bytes));
    return header;
}

std::string make_safetensors_header(std::vector<TensorInfo>& tensors,
                                    std::map<std::string, std::string> const& metadata) {
    json::object root;
    if (!metadata.empty()) {
        auto& object = root["__metadata__"].emplace_object();
        for (auto const& [key, text] : metadata) object[key] = text;
    }
    std::int64_t at = 0;
    for (auto& tensor : tensors) {
        auto const bytes = total_bytes(tensor.shape, bytes_of(tensor.dtype));
        OSORA_CHECK(bytes.has_value(), "a tensor in memory has a size that fits");
        tensor.begin_bytes = at;
        at += *bytes;
        tensor.end_bytes = at;
        OSORA_CHECK(!root.contains(tensor.name), "tensor names are unique");
        root[tensor.name] = {{"dtype", name_of(tensor.dtype)},
                             {"shape", json::value_from(tensor.shape)},
                             {"data_offsets", {tensor.begin_bytes, tensor.end_bytes}}};
    }
    std::string text = json::serialize(root);
    constexpr std::size_t kAlign = 64;
    text.append((kAlign - (kLengthBytes + text.size()) % kAlign) % kAlign, ' ');
    std::string head;
    for (int i = 0; i < kLengthBytes; ++i)
        head += static_cast<char>((text.size() >> (8 * i)) & 0xFF);
    return head + text;
}

}  // namespace osora::worker
