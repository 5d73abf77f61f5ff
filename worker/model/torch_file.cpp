#include "worker/model/torch_file.hpp"

#include "base/files.hpp"

#include <ATen/core/ivalue.h>
#include <c10/util/Exception.h>
#include <caffe2/serialize/inline_container.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/csrc/jit/serialization/import_read.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace osora::worker {
namespace {

namespace fs = std::filesystem;
using Dict = c10::Dict<c10::IValue, c10::IValue>;

std::string with_way_out(fs::path const& path, std::string_view why) {
    return fmt::format(
        "{}: {}; convert it where it was made: python -c \"import torch; from safetensors.torch "
        "import save_file; w = torch.load('{}', map_location='cpu'); save_file({{k: "
        "v.contiguous() for k, v in w.items()}}, 'weights.safetensors')\"",
        path.string(), why, path.filename().string());
}

Error invalid_file(fs::path const& path, std::string_view why) {
    return Error{Errc::invalid_input, with_way_out(path, why)};
}
Error corrupt_file(fs::path const& path, std::string_view why) {
    return Error{Errc::corrupt, fmt::format("{}: {}", path.string(), why)};
}

/// Before LibTorch reads it: a zip archive begins with "PK"; older versions of torch.save wrote
/// bare pickles.
Result<void> check_begin(fs::path const& path) {
    std::error_code failed;
    if (!fs::is_regular_file(path, failed)) {
        return file_error(failed ? failed.value() : EINVAL, "read", path);
    }
    std::ifstream file(path, std::ios::binary);
    std::array<char, 2> begin{};
    if (!file.read(begin.data(), begin.size())) {
        if (fs::file_size(path, failed) >= begin.size()) return file_error(EIO, "read", path);
        return corrupt_file(path, "shorter than any archive of torch.save");
    }
    if (begin == std::array{'P', 'K'}) return {};
    if (begin[0] == '\x80')
        return invalid_file(path, "a bare pickle, as torch.save wrote before 1.6");
    return corrupt_file(path, "not an archive of torch.save (it does not begin with PK)");
}

/// Records are stored, not compressed, so that together they are smaller than the file; an archive
/// that says otherwise would unpack to any size.
Result<void> check_records(fs::path const& path, caffe2::serialize::PyTorchStreamReader& reader) {
    std::error_code failed;
    std::uintmax_t const file_bytes = fs::file_size(path, failed);
    std::uintmax_t bytes = 0;
    for (std::string const& name : reader.getAllRecords()) bytes += reader.getRecordSize(name);
    if (bytes > file_bytes) {
        return corrupt_file(path, fmt::format("its records unpack to {} bytes, the file has {}",
                                              bytes, file_bytes));
    }
    if (!reader.hasRecord("byteorder")) return {};
    auto const [data, size] = reader.getRecord("byteorder");
    std::string_view const order(static_cast<char const*>(data.get()), size);
    if (order != "little") return corrupt_file(path, fmt::format("its byte order is {}", order));
    return {};
}

bool holds_tensors(c10::IValue const& value) {
    if (!value.isGenericDict() || value.toGenericDict().empty()) return false;
    auto const dict = value.toGenericDict();
    return std::all_of(dict.begin(), dict.end(), [](auto const& entry) {
        return entry.key().isString() && entry.value().isTensor();
    });
}

std::string described(Dict const& dict) {
    constexpr std::size_t kShown = 6;
    std::vector<std::string> entries;
    for (auto const& entry : dict) {
        if (entries.size() == kShown) {
            entries.emplace_back("...");
            break;
        }
        std::string const name = entry.key().isString() ? entry.key().toStringRef() : "?";
        entries.push_back(fmt::format("{} ({})", name, entry.value().tagKind()));
    }
    return fmt::format("{}", fmt::join(entries, ", "));
}

Result<Dict> dict_of(fs::path const& path, c10::IValue const& value) {
    if (!value.isGenericDict()) {
        return invalid_file(path,
                            fmt::format("holds a {}, not a dict of tensors", value.tagKind()));
    }
    if (holds_tensors(value)) return value.toGenericDict();
    std::vector<Dict> inner;
    for (auto const& entry : value.toGenericDict()) {
        if (holds_tensors(entry.value())) inner.push_back(entry.value().toGenericDict());
    }
    if (inner.size() == 1) return inner.front();
    return invalid_file(path, fmt::format("{} dicts of tensors in it, expected one; it holds {}",
                                          inner.size(), described(value.toGenericDict())));
}

Result<std::vector<NamedTensor>> tensors_of(fs::path const& path, Dict const& dict) {
    std::vector<NamedTensor> tensors;
    for (auto const& entry : dict) {
        at::Tensor const tensor = entry.value().toTensor();
        if (!tensor.defined() || !tensor.is_cpu() || tensor.is_sparse()) {
            return invalid_file(path, fmt::format("'{}' is not a plain tensor on the CPU",
                                                  entry.key().toStringRef()));
        }
        tensors.push_back({entry.key().toStringRef(), tensor.detach(), TensorKind::buffer});
    }
    std::ranges::sort(tensors, {}, &NamedTensor::name);
    return tensors;
}

/// What LibTorch says of a pickle that it does not read, for people.
Error unreadable(fs::path const& path, std::string_view what) {
    what = what.substr(0, what.find('\n'));
    // An OrderedDict becomes None in its unpickler, and the entries then have no dict.
    if (what.find("Expected GenericDict but got None") != std::string_view::npos) {
        return invalid_file(path,
                            "holds an OrderedDict (a module's state_dict()), not a plain dict");
    }
    if (what.find("unknown type") != std::string_view::npos) {
        return invalid_file(path, fmt::format("holds an object, not a dict of tensors ({})", what));
    }
    return corrupt_file(path, fmt::format("cut off or damaged: {}", what));
}

}  // namespace

bool is_torch_file(fs::path const& path) {
    std::string const ending = path.extension().string();
    return ending == ".pt" || ending == ".pth" || ending == ".ckpt" || ending == ".bin";
}

Result<std::vector<NamedTensor>> load_torch_file(fs::path const& path) {
    OSORA_TRY_VOID(check_begin(path));
    // The parse boundary: LibTorch throws.
    try {
        caffe2::serialize::PyTorchStreamReader reader(path.string());
        OSORA_TRY_VOID(check_records(path, reader));
        auto const value = torch::jit::readArchiveAndTensors(
            "data", "", "", std::nullopt, std::nullopt, at::Device(at::kCPU), reader);
        OSORA_TRY(auto const dict, dict_of(path, value));
        return tensors_of(path, dict);
    } catch (c10::Error const& error) {
        return unreadable(path, error.what_without_backtrace());
    } catch (std::exception const& error) {
        return unreadable(path, error.what());
    }
}

}  // namespace osora::worker
