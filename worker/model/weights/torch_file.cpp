#include "worker/model/weights/torch_file.hpp"

#include "base/files/files.hpp"
#include "base/files/regular_file.hpp"
#include "base/text/shell_word.hpp"
#include "worker/model/weights/torch_records.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <c10/util/Exception.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>
#include <new>
#include <string>
#include <string_view>
#include <utility>

namespace osora::worker {
namespace {

namespace fs = std::filesystem;

/// The name is an argument of the program: nothing in it is Python. The program takes what Python
/// alone can make of the file: modules, quantized and sparse tensors, tensors that share bytes.
std::string with_way_out(fs::path const& path, std::string_view why) {
    std::string name = path.filename().string();
    bool const is_option = name.starts_with('-');
    return fmt::format(
        "{}: {}; convert it where it was made (this runs its code): python -c 'import sys, torch; "
        "from safetensors.torch import save_file; "
        "w = torch.load(sys.argv[1], map_location=\"cpu\", weights_only=False); "
        "w = w.state_dict() if hasattr(w, \"state_dict\") else w; "
        "w = w if any(map(torch.is_tensor, w.values())) else "
        "next(v for v in w.values() if isinstance(v, dict) and any(map(torch.is_tensor, "
        "v.values()))); "
        "f = lambda t: t.dequantize() if t.is_quantized else t.to_dense() if t.layout != "
        "torch.strided else t.resolve_conj().resolve_neg(); "
        "save_file({{k: f(v.detach()).clone().contiguous() for k, v in w.items() if "
        "torch.is_tensor(v)}}, \"weights.safetensors\")' {}",
        path.string(), why, shell_word((is_option ? "./" : "") + name));
}

Error corrupt_file(fs::path const& path, std::string_view why) {
    return Error{Errc::corrupt, fmt::format("{}: {}", path.string(), why)};
}

/// If there are several sets the user chooses one; another program must convert what osora cannot
/// read.
Error named(fs::path const& path, Error const& error) {
    if (error.code != Errc::invalid_input) return Error(error).in(path.string());
    constexpr std::string_view kFile = "FILE#";
    auto const choice = error.message.find(kFile);
    if (choice == std::string::npos) return {error.code, with_way_out(path, error.message)};
    std::string message = error.message;
    message.replace(choice, kFile.size(), path.string() + "#");
    return Error{error.code, std::move(message)}.in(path.string());
}

/// Before LibTorch reads it: a zip archive begins with "PK"; older versions of torch.save wrote
/// bare pickles.
Result<std::unique_ptr<TorchRecords>> open_records(fs::path const& path,
                                                   std::shared_ptr<TorchFileBytes const> file) {
    std::array<char, 2> begin{};
    if (file->size() < begin.size()) {
        return corrupt_file(path, "shorter than any archive of torch.save");
    }
    if (file->read(0, begin.data(), begin.size()) < begin.size()) {
        return file_error(EIO, "read", path);
    }
    bool const zip = begin == std::array{'P', 'K'};
    if (!zip && begin[0] != '\x80') {
        return corrupt_file(path, "not an archive of torch.save (it does not begin with PK)");
    }
    auto records = zip ? open_torch_archive(file) : open_legacy_torch_file(file);
    if (records.has_error()) return named(path, records.error());
    return records;
}

struct ScalarName {
    std::string_view name;
    at::ScalarType type;
};
constexpr std::array kScalars{ScalarName{"Bool", at::kBool},
                              ScalarName{"Byte", at::kByte},
                              ScalarName{"Char", at::kChar},
                              ScalarName{"Short", at::kShort},
                              ScalarName{"Int", at::kInt},
                              ScalarName{"Long", at::kLong},
                              ScalarName{"Half", at::kHalf},
                              ScalarName{"BFloat16", at::kBFloat16},
                              ScalarName{"Float", at::kFloat},
                              ScalarName{"Double", at::kDouble},
                              ScalarName{"ComplexFloat", at::kComplexFloat},
                              ScalarName{"ComplexDouble", at::kComplexDouble},
                              ScalarName{"float8_e4m3fn", at::kFloat8_e4m3fn},
                              ScalarName{"float8_e5m2", at::kFloat8_e5m2},
                              ScalarName{"uint16", at::kUInt16},
                              ScalarName{"uint32", at::kUInt32},
                              ScalarName{"uint64", at::kUInt64}};

/// Makes the tensors of claims, with one copy in memory of each record however many tensors it has.
class TensorMaker {
public:
    TensorMaker(fs::path const& path, TorchRecords& records, std::size_t file_bytes)
        : path_(path), records_(records), file_bytes_(file_bytes) {}

    Result<std::vector<NamedTensor>> make(std::vector<TorchTensor> const& claims) {
        OSORA_TRY_VOID(check_total(claims));
        std::vector<NamedTensor> made;
        for (TorchTensor const& each : claims) {
            OSORA_TRY(auto const record, record_of(each));
            auto const fits = check_in_record(each, static_cast<std::int64_t>(record.bytes));
            if (fits.has_error()) return Error(fits.error()).in(path_.string());
            made.push_back({each.name, tensor_in(each, record), TensorKind::buffer});
        }
        return made;
    }

private:
    Result<TorchRecord> record_of(TorchTensor const& tensor) {
        TorchRecord& known = read_[tensor.record];
        if (known.data != nullptr) return known;
        if (!records_.has(tensor.record)) {
            return corrupt_file(path_, fmt::format("tensor '{}': its record {} is not there",
                                                   tensor.name, tensor.record));
        }
        auto read = records_.read(tensor.record);
        if (read.has_error()) return Error(read.error()).in(path_.string());
        return known = std::move(*read);
    }

    /// Tensors that share bytes (tied weights, a stride of 0) must not make a small file large.
    Result<void> check_total(std::vector<TorchTensor> const& claims) {
        constexpr std::int64_t kTimesMax = 16, kFreeBytes = 64 << 20;
        std::int64_t const limit = static_cast<std::int64_t>(file_bytes_) * kTimesMax + kFreeBytes;
        std::int64_t left = limit;
        for (TorchTensor const& each : claims) {
            if (!records_.has(each.record)) continue;  // checked by record_of()
            auto const fits = check_in_record(each, records_.bytes_of(each.record));
            if (fits.has_error()) return Error(fits.error()).in(path_.string());
            if (bytes_of(each) > left) {
                return corrupt_file(path_, fmt::format("tensor '{}': with it the tensors of this "
                                                       "file have more than {} bytes, the file "
                                                       "itself has {}",
                                                       each.name, limit, file_bytes_));
            }
            left -= bytes_of(each);
        }
        return {};
    }

    static at::Tensor tensor_in(TorchTensor const& claim, TorchRecord const& record) {
        auto const type = std::ranges::find(kScalars, claim.type, &ScalarName::name)->type;
        auto const options = at::TensorOptions().dtype(type);
        if (bytes_of(claim) == 0) return at::empty(claim.sizes, options);
        auto* const begin =
            static_cast<std::byte*>(record.data.get()) + claim.offset * claim.width_bytes;
        return at::from_blob(
            begin, claim.sizes, claim.strides, [held = record.data](void*) {}, options);
    }

    fs::path const& path_;
    TorchRecords& records_;
    std::size_t file_bytes_;
    std::map<std::string, TorchRecord> read_;
};

Result<LoadedWeights> load(fs::path const& path, std::string_view set) {
    OSORA_TRY(Descriptor opened, open_regular(path));
    auto const file = std::make_shared<TorchFileBytes>(std::move(opened));
    OSORA_TRY(auto const records, open_records(path, file));
    auto claims = records->weights(set);
    if (claims.has_error()) return named(path, claims.error());
    OSORA_TRY(auto tensors, TensorMaker(path, *records, file->size()).make(claims->tensors));
    return LoadedWeights{std::move(tensors), std::move(claims->notices)};
}

/// LibTorch's error for an archive that it cannot read, in one line.
Error unreadable(fs::path const& path, std::string_view what) {
    return corrupt_file(path,
                        fmt::format("cut off or damaged: {}", what.substr(0, what.find('\n'))));
}

}  // namespace

TorchFileBytes::TorchFileBytes(Descriptor file) : file_(std::move(file)) {
    struct stat info {};
    if (::fstat(file_.get(), &info) == 0) size_ = static_cast<std::size_t>(info.st_size);
}

std::size_t TorchFileBytes::read(std::uint64_t from, void* out, std::size_t count) const {
    std::size_t done = 0;
    while (done < count) {
        ssize_t const got = ::pread(file_.get(), static_cast<char*>(out) + done, count - done,
                                    static_cast<off_t>(from + done));
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        done += static_cast<std::size_t>(got);
    }
    return done;
}

bool is_torch_file(fs::path const& path) {
    std::string const ending = path.extension().string();
    return ending == ".pt" || ending == ".pth" || ending == ".ckpt" || ending == ".bin";
}

Result<LoadedWeights> load_torch_file(fs::path const& path, std::string_view set) {
    // The parse boundary: LibTorch throws.
    try {
        return load(path, set);
    } catch (c10::Error const& error) {
        return unreadable(path, error.what_without_backtrace());
    } catch (std::bad_alloc const&) {
        return Error{Errc::out_of_memory, path.string() + ": read: out of memory"};
    } catch (std::exception const& error) {
        return unreadable(path, error.what());
    }
}

}  // namespace osora::worker
