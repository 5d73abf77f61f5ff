#include "worker/model/tensor_parts.hpp"

#include "base/files/files.hpp"
#include "worker/model/weights/safetensors.hpp"
#include "worker/model/weights/safetensors_header.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <utility>

namespace osora::worker {
namespace {

constexpr std::size_t kWriteBytesMax = std::size_t{16} << 20;
constexpr std::int64_t kFlushEvery = std::int64_t{256} << 20;  // bytes

/// A file open for writing at any place.
class OutputFile {
public:
    OutputFile(std::filesystem::path path, std::atomic<std::int64_t>* written)
        : path_(std::move(path)),
          written_(written),
          fd_(::open(path_.c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644)) {}
    OutputFile(OutputFile const&) = delete;
    OutputFile& operator=(OutputFile const&) = delete;
    ~OutputFile() {
        if (fd_ >= 0) ::close(fd_);
    }

    [[nodiscard]] bool is_open() const { return fd_ >= 0; }
    [[nodiscard]] Result<void> resize(std::int64_t bytes) {
        if (::ftruncate(fd_, bytes) != 0) return file_error(errno, "resize", path_);
        return {};
    }
    [[nodiscard]] Result<void> write(std::string_view bytes, std::int64_t at) {
        while (!bytes.empty()) {
            ssize_t const wrote =
                ::pwrite(fd_, bytes.data(), std::min(bytes.size(), kWriteBytesMax), at);
            if (wrote < 0 && errno == EINTR) continue;
            if (wrote < 0) return file_error(errno, "write", path_);
            bytes.remove_prefix(static_cast<std::size_t>(wrote));
            at += wrote;
            if (written_ != nullptr) *written_ += wrote;
            unflushed_ += wrote;
            if (unflushed_ >= kFlushEvery) OSORA_TRY_VOID(flush());
        }
        return {};
    }
    [[nodiscard]] Result<void> sync() {
        if (::fsync(fd_) != 0) return file_error(errno, "sync", path_);
        return {};
    }

private:
    /// Waits for what the last call began to write to the disk, and begins with the rest. Without
    /// it a file of many GB may sit in memory until sync(), which then says nothing for long.
    [[nodiscard]] Result<void> flush() {
        unflushed_ = 0;
        constexpr unsigned kWaitAndBegin = SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE;
        if (::sync_file_range(fd_, 0, 0, kWaitAndBegin) == 0) return {};
        bool const unknown_here = errno == ENOSYS || errno == EINVAL || errno == ESPIPE;
        if (unknown_here || errno == EINTR) return {};
        return file_error(errno, "write", path_);
    }

    std::filesystem::path path_;
    std::atomic<std::int64_t>* written_;
    std::int64_t unflushed_ = 0;
    int fd_;
};

}  // namespace

TensorParts::TensorParts(std::string tensor_name, at::Tensor const& whole)
    : TensorParts(std::move(tensor_name), whole.scalar_type(), whole.sizes().vec()) {
    parts.push_back({0, whole});
}

void TensorParts::Part::take(at::Tensor const& items) const {
    if (runs.empty()) {
        values.copy_(items.narrow(0, first, values.numel()).view(values.sizes()));
        return;
    }
    at::Tensor const own = values.view(-1);
    for (ItemRun const& run : runs)
        own.narrow(0, run.own, run.count).copy_(items.narrow(0, run.whole, run.count));
}

TensorParts::TensorParts(std::string tensor_name, at::ScalarType tensor_type,
                         std::vector<std::int64_t> tensor_shape)
    : name(std::move(tensor_name)), type(tensor_type), shape(std::move(tensor_shape)) {}

Result<void> write_parts(std::filesystem::path const& path, std::vector<TensorParts> const& tensors,
                         std::map<std::string, std::string> const& metadata, bool first_writer,
                         std::atomic<std::int64_t>* written) {
    std::vector<TensorParts const*> order;
    std::vector<TensorInfo> infos;
    for (TensorParts const& each : tensors) order.push_back(&each);
    // Wide types first keeps every tensor aligned to its own type.
    std::ranges::stable_sort(order, std::greater{},
                             [](auto const* each) { return c10::elementSize(each->type); });
    for (TensorParts const* each : order) {
        auto const type = file_type(each->type);
        if (!type)
            return Error{Errc::invalid_input,
                         fmt::format("{}: tensor '{}' has a type that safetensors cannot hold",
                                     path.string(), each->name)};
        infos.push_back(TensorInfo{each->name, *type, each->shape, 0, 0});
    }
    std::string const header = make_safetensors_header(infos, metadata);
    auto const data = static_cast<std::int64_t>(header.size());
    OutputFile file(path, written);
    if (!file.is_open()) return file_error(errno, "create", path);
    if (first_writer) {
        OSORA_TRY_VOID(file.resize(data + (infos.empty() ? 0 : infos.back().end_bytes)));
        OSORA_TRY_VOID(file.write(header, 0));
    }
    for (std::size_t i = 0; i < order.size(); ++i) {
        for (auto const& part : order[i]->parts) {
            at::Tensor const host = part.values.detach().to(at::kCPU).contiguous();
            std::int64_t const item = host.element_size(), at = data + infos[i].begin_bytes;
            auto const* const bytes = static_cast<char const*>(host.const_data_ptr());
            auto runs = part.runs;
            if (runs.empty()) runs.push_back({part.first, 0, host.numel()});
            for (ItemRun const& run : runs) {
                std::string_view const own(bytes + run.own * item,
                                           static_cast<std::size_t>(run.count * item));
                OSORA_TRY_VOID(file.write(own, at + run.whole * item));
            }
        }
    }
    return file.sync();
}

}  // namespace osora::worker
