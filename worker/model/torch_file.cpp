#include "worker/model/torch_file.hpp"

#include "base/files.hpp"
#include "base/regular_file.hpp"
#include "base/shell_word.hpp"
#include "worker/model/torch_pickle.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <c10/util/Exception.h>
#include <caffe2/serialize/inline_container.h>
#include <caffe2/serialize/read_adapter_interface.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>

namespace osora::worker {
namespace {

namespace fs = std::filesystem;

/// The name is an argument of the program: nothing in it is Python.
std::string with_way_out(fs::path const& path, std::string_view why) {
    std::string name = path.filename().string();
    bool const is_option = name.starts_with('-');
    return fmt::format(
        "{}: {}; convert it where it was made: python -c 'import sys, torch; from "
        "safetensors.torch import save_file; w = torch.load(sys.argv[1], map_location=\"cpu\"); "
        "save_file({{k: v.contiguous() for k, v in w.items()}}, \"weights.safetensors\")' {}",
        path.string(), why, shell_word((is_option ? "./" : "") + name));
}

Error invalid_file(fs::path const& path, std::string_view why) {
    return Error{Errc::invalid_input, with_way_out(path, why)};
}
Error corrupt_file(fs::path const& path, std::string_view why) {
    return Error{Errc::corrupt, fmt::format("{}: {}", path.string(), why)};
}

/// The open file, as LibTorch wants to read it; what cannot be read is short.
class TorchFileBytes : public caffe2::serialize::ReadAdapterInterface {
public:
    explicit TorchFileBytes(Descriptor file) : file_(std::move(file)) {
        struct stat info {};
        if (::fstat(file_.get(), &info) == 0) size_ = static_cast<std::size_t>(info.st_size);
    }
    [[nodiscard]] std::size_t size() const override { return size_; }
    std::size_t read(std::uint64_t from, void* out, std::size_t count, char const*) const override {
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

private:
    Descriptor file_;
    std::size_t size_ = 0;
};

/// Before LibTorch reads it: a zip archive begins with "PK"; older versions of torch.save wrote
/// bare pickles.
Result<void> check_begin(fs::path const& path, TorchFileBytes const& file) {
    std::array<char, 2> begin{};
    if (file.size() < begin.size()) {
        return corrupt_file(path, "shorter than any archive of torch.save");
    }
    if (file.read(0, begin.data(), begin.size(), "") < begin.size()) {
        return file_error(EIO, "read", path);
    }
    if (begin == std::array{'P', 'K'}) return {};
    if (begin[0] == '\x80')
        return invalid_file(path, "a bare pickle, as torch.save wrote before 1.6");
    return corrupt_file(path, "not an archive of torch.save (it does not begin with PK)");
}

/// The zip archive; its errors are LibTorch's exceptions.
class TorchArchive {
public:
    TorchArchive(fs::path const& path, std::shared_ptr<TorchFileBytes> file)
        : path_(path), file_bytes_(file->size()), reader_(std::move(file)) {}

    /// Records are stored, not compressed, so that together they are smaller than the file; an
    /// archive that says otherwise would unpack to any size.
    Result<void> check_records() {
        std::size_t left = file_bytes_;
        for (std::string const& name : reader_.getAllRecords()) {
            std::size_t const bytes = reader_.getRecordSize(name);
            if (bytes > left) {
                return corrupt_file(path_, fmt::format("its records unpack to more than the {} "
                                                       "bytes of the file",
                                                       file_bytes_));
            }
            left -= bytes;
        }
        if (!reader_.hasRecord("byteorder")) return {};
        std::string const order = text_of("byteorder");
        if (order == "little") return {};
        return corrupt_file(path_, fmt::format("its byte order is {}", order.substr(0, 16)));
    }

    std::string text_of(std::string const& record) {
        auto const [data, bytes] = reader_.getRecord(record);
        return {static_cast<char const*>(data.get()), bytes};
    }

    /// Copies in memory, one of each record however many tensors lie in it.
    Result<std::vector<NamedTensor>> tensors(std::vector<TorchTensor> const& claims) {
        OSORA_TRY_VOID(check_total(claims));
        std::vector<NamedTensor> made;
        for (TorchTensor const& each : claims) {
            OSORA_TRY(auto const record, record_of(each));
            auto const fits = check_in_record(each, static_cast<std::int64_t>(record->bytes));
            if (fits.has_error()) return Error(fits.error()).in(path_.string());
            made.push_back({each.name, tensor_in(each, record), TensorKind::buffer});
        }
        return made;
    }

private:
    struct Record {
        at::DataPtr data;
        std::size_t bytes = 0;
    };
    using RecordPtr = std::shared_ptr<Record const>;

    Result<RecordPtr> record_of(TorchTensor const& tensor) {
        RecordPtr& known = records_[tensor.record];
        if (known != nullptr) return known;
        if (!reader_.hasRecord(tensor.record)) {
            return corrupt_file(path_, fmt::format("tensor '{}': its record {} is not there",
                                                   tensor.name, tensor.record));
        }
        auto [data, bytes] = reader_.getRecord(tensor.record);
        known = std::make_shared<Record const>(std::move(data), bytes);
        return known;
    }

    /// Tensors that share bytes (tied weights, a stride of 0) must not make a small file large.
    Result<void> check_total(std::vector<TorchTensor> const& claims) {
        constexpr std::int64_t kTimesMax = 16, kFreeBytes = 64 << 20;
        std::int64_t const limit = static_cast<std::int64_t>(file_bytes_) * kTimesMax + kFreeBytes;
        std::int64_t left = limit;
        for (TorchTensor const& each : claims) {
            if (!reader_.hasRecord(each.record)) continue;  // record_of() says so
            auto const record_bytes = static_cast<std::int64_t>(reader_.getRecordSize(each.record));
            auto const fits = check_in_record(each, record_bytes);
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

    static at::Tensor tensor_in(TorchTensor const& claim, RecordPtr const& record) {
        auto const type =
            std::ranges::find(kStorages, claim.storage, &StorageOfType::storage)->type;
        auto const options = at::TensorOptions().dtype(type);
        if (bytes_of(claim) == 0) return at::empty(claim.sizes, options);
        auto* const begin =
            static_cast<std::byte*>(record->data.get()) + claim.offset * claim.width_bytes;
        return at::from_blob(
            begin, claim.sizes, claim.strides, [record](void*) {}, options);
    }

    struct StorageOfType {
        std::string_view storage;
        at::ScalarType type;
    };
    static constexpr std::array kStorages{
        StorageOfType{"BoolStorage", at::kBool},
        StorageOfType{"ByteStorage", at::kByte},
        StorageOfType{"CharStorage", at::kChar},
        StorageOfType{"ShortStorage", at::kShort},
        StorageOfType{"IntStorage", at::kInt},
        StorageOfType{"LongStorage", at::kLong},
        StorageOfType{"HalfStorage", at::kHalf},
        StorageOfType{"BFloat16Storage", at::kBFloat16},
        StorageOfType{"FloatStorage", at::kFloat},
        StorageOfType{"DoubleStorage", at::kDouble},
        StorageOfType{"ComplexFloatStorage", at::kComplexFloat},
        StorageOfType{"ComplexDoubleStorage", at::kComplexDouble}};

    fs::path const& path_;
    std::size_t file_bytes_;
    caffe2::serialize::PyTorchStreamReader reader_;
    std::map<std::string, RecordPtr> records_;
};

Result<std::vector<NamedTensor>> load(fs::path const& path, std::shared_ptr<TorchFileBytes> file) {
    TorchArchive archive(path, std::move(file));
    OSORA_TRY_VOID(archive.check_records());
    std::string const pickle = archive.text_of("data.pkl");
    auto const claims = parse_torch_pickle(pickle);
    if (claims.has_value()) return archive.tensors(*claims);
    bool const other = claims.error().code == Errc::invalid_input;
    return other ? invalid_file(path, claims.error().message)
                 : corrupt_file(path, claims.error().message);
}

/// What LibTorch says of an archive that it does not read, in one line.
Error unreadable(fs::path const& path, std::string_view what) {
    return corrupt_file(path,
                        fmt::format("cut off or damaged: {}", what.substr(0, what.find('\n'))));
}

}  // namespace

bool is_torch_file(fs::path const& path) {
    std::string const ending = path.extension().string();
    return ending == ".pt" || ending == ".pth" || ending == ".ckpt" || ending == ".bin";
}

Result<std::vector<NamedTensor>> load_torch_file(fs::path const& path) {
    OSORA_TRY(Descriptor opened, open_regular(path));
    auto const file = std::make_shared<TorchFileBytes>(std::move(opened));
    OSORA_TRY_VOID(check_begin(path, *file));
    // The parse boundary: LibTorch throws.
    try {
        return load(path, file);
    } catch (c10::Error const& error) {
        return unreadable(path, error.what_without_backtrace());
    } catch (std::bad_alloc const&) {
        return Error{Errc::out_of_memory, path.string() + ": read: out of memory"};
    } catch (std::exception const& error) {
        return unreadable(path, error.what());
    }
}

}  // namespace osora::worker
