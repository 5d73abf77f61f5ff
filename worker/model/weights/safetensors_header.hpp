// Parses the header of a safetensors file from unverified bytes: every size, offset and name is
// validated before a tensor is made. Pure: no files, no LibTorch.
#pragma once

#include "base/result.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace osora::worker {

enum class DType { boolean, u8, i8, i16, i32, i64, f8_e4m3, f8_e5m2, f16, bf16, f32, f64 };
[[nodiscard]] std::int64_t bytes_of(DType type);
[[nodiscard]] std::string_view name_of(DType type);  // "BOOL", "F8_E4M3" ... "F64"

struct TensorInfo {
    std::string name;
    DType dtype = DType::f32;
    std::vector<std::int64_t> shape;
    std::int64_t begin_bytes = 0;  // from the start of the data section
    std::int64_t end_bytes = 0;
    friend bool operator==(TensorInfo const&, TensorInfo const&) = default;
};

struct SafetensorsHeader {
    std::vector<TensorInfo> tensors;  // by begin_bytes; they fill the data section without a gap
    std::map<std::string, std::string> metadata;
    std::int64_t data_offset_bytes = 0;  // of the data section in the file
};

/// Length of the length field and the header together, from the first 8 bytes of a file of
/// `file_bytes`; corrupt if it is impossible.
[[nodiscard]] Result<std::int64_t> safetensors_header_bytes(std::string_view first_8,
                                                            std::int64_t file_bytes);

/// `head`: the length field and the header. Errors are Errc::corrupt and name the tensor.
[[nodiscard]] Result<SafetensorsHeader> parse_safetensors_header(std::string_view head,
                                                                 std::int64_t file_bytes);

/// Length field and header for `tensors`, whose offsets it assigns in order; the data section
/// starts at a multiple of 64 bytes.
[[nodiscard]] std::string make_safetensors_header(
    std::vector<TensorInfo>& tensors, std::map<std::string, std::string> const& metadata);

}  // namespace osora::worker
