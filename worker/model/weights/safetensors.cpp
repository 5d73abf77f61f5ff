#include "worker/model/weights/safetensors.hpp"

#include "base/check.hpp"
#include "base/files/files.hpp"
#include "base/files/regular_file.hpp"
#include "worker/model/weights/safetensors_header.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>

namespace osora::worker {
namespace {

struct TypePair {
    DType ours;
    at::ScalarType torch;
};
constexpr std::array kTypePairs{TypePair{DType::boolean, at::kBool},
                                TypePair{DType::u8, at::kByte},
                                TypePair{DType::i8, at::kChar},
                                TypePair{DType::i16, at::kShort},
                                TypePair{DType::i32, at::kInt},
                                TypePair{DType::i64, at::kLong},
                                TypePair{DType::f8_e4m3, at::kFloat8_e4m3fn},
                                TypePair{DType::f8_e5m2, at::kFloat8_e5m2},
                                TypePair{DType::f16, at::kHalf},
                                TypePair{DType::bf16, at::kBFloat16},
                                TypePair{DType::f32, at::kFloat},
                                TypePair{DType::f64, at::kDouble}};

/// A file mapped copy-on-write; unmapped when the last tensor in it is released.
class Mapping {
public:
    Mapping(void* data, std::size_t bytes) : data_(data), bytes_(bytes) {}
    Mapping(Mapping const&) = delete;
    Mapping& operator=(Mapping const&) = delete;
    ~Mapping() { ::munmap(data_, bytes_); }
    [[nodiscard]] std::byte* data() const { return static_cast<std::byte*>(data_); }

private:
    void* data_;
    std::size_t bytes_;
};

/// 0, or an errno; EIO when the file ends first.
int read_whole(Descriptor const& file, std::string& out) {
    for (std::size_t done = 0; done < out.size();) {
        ssize_t const got =
            ::pread(file.get(), out.data() + done, out.size() - done, static_cast<off_t>(done));
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return got < 0 ? errno : EIO;
        done += static_cast<std::size_t>(got);
    }
    return 0;
}

Result<SafetensorsHeader> read_header(Descriptor const& file, std::filesystem::path const& path,
                                      std::int64_t file_bytes) {
    std::string head(static_cast<std::size_t>(std::min<std::int64_t>(8, file_bytes)), '\0');
    if (int const error = read_whole(file, head); error != 0)
        return file_error(error, "read", path);
    OSORA_TRY(auto const head_bytes, safetensors_header_bytes(head, file_bytes));
    head.resize(static_cast<std::size_t>(head_bytes));
    if (int const error = read_whole(file, head); error != 0)
        return file_error(error, "read", path);
    return parse_safetensors_header(head, file_bytes);
}

at::Tensor tensor_at(std::shared_ptr<Mapping> const& mapping, std::int64_t data_offset_bytes,
                     TensorInfo const& info) {
    auto const type = std::ranges::find(kTypePairs, info.dtype, &TypePair::ours)->torch;
    auto const options = at::TensorOptions().dtype(type);
    if (info.begin_bytes == info.end_bytes) return at::empty(info.shape, options);
    std::byte* const data = mapping->data() + data_offset_bytes + info.begin_bytes;
    auto const step = static_cast<std::uintptr_t>(bytes_of(info.dtype));
    if (reinterpret_cast<std::uintptr_t>(data) % step != 0) {  // files may pack tensors anyhow
        at::Tensor copy = at::empty(info.shape, options);
        std::copy_n(data, info.end_bytes - info.begin_bytes,
                    static_cast<std::byte*>(copy.mutable_data_ptr()));
        return copy;
    }
    return at::from_blob(
        data, info.shape, [mapping](void*) {}, options);
}

std::string_view bytes_in(at::Tensor const& tensor) {
    return {static_cast<char const*>(tensor.const_data_ptr()), tensor.nbytes()};
}

}  // namespace

at::Tensor const* SafetensorsContent::find(std::string_view name) const {
    auto const found = std::ranges::find(tensors, name, &NamedTensor::name);
    return found == tensors.end() ? nullptr : &found->tensor;
}

std::optional<DType> file_type(at::ScalarType type) {
    auto const* found = std::ranges::find(kTypePairs, type, &TypePair::torch);
    return found == kTypePairs.end() ? std::nullopt : std::optional(found->ours);
}

std::string_view safetensors_type(at::ScalarType type) {
    auto const found = file_type(type);
    return found ? name_of(*found) : "?";
}

Result<SafetensorsContent> load_safetensors(std::filesystem::path const& path) {
    OSORA_TRY(Descriptor const file, open_regular(path));
    struct stat info {};
    if (::fstat(file.get(), &info) != 0) return file_error(errno, "stat", path);
    auto header = read_header(file, path, info.st_size);
    if (header.has_error()) return std::move(header).error().in(path.string());
    auto const bytes = static_cast<std::size_t>(info.st_size);
    void* const data =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, file.get(), 0);
    if (data == MAP_FAILED) return file_error(errno, "map", path);
    auto const mapping = std::make_shared<Mapping>(data, bytes);
    SafetensorsContent content;
    content.metadata = std::move(header->metadata);
    for (auto const& tensor : header->tensors)
        content.tensors.push_back({tensor.name,
                                   tensor_at(mapping, header->data_offset_bytes, tensor),
                                   TensorKind::buffer});
    return content;
}

Result<void> save_safetensors(std::filesystem::path const& path,
                              std::vector<NamedTensor> const& tensors,
                              std::map<std::string, std::string> const& metadata) {
    // Wide types first keeps every tensor aligned to its own type.
    std::vector<std::pair<TensorInfo, at::Tensor const*>> order;
    for (auto const& [name, tensor, kind] : tensors) {
        auto const type = file_type(tensor.scalar_type());
        if (!type)
            return Error{Errc::invalid_input,
                         fmt::format("{}: tensor '{}' has a type that safetensors cannot hold",
                                     path.string(), name)};
        order.push_back({TensorInfo{name, *type, tensor.sizes().vec(), 0, 0}, &tensor});
    }
    std::ranges::stable_sort(order, std::greater{},
                             [](auto const& item) { return bytes_of(item.first.dtype); });
    std::vector<TensorInfo> infos;
    for (auto const& item : order) infos.push_back(item.first);
    OSORA_TRY(auto file, NewFile::create(path));
    OSORA_TRY_VOID(file.write(make_safetensors_header(infos, metadata)));
    for (auto const& item : order) {
        at::Tensor const host = item.second->detach().to(at::kCPU).contiguous();
        OSORA_TRY_VOID(file.write(bytes_in(host)));
    }
    return file.replace();
}

}  // namespace osora::worker
