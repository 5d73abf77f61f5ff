// The bytes of a torch.save file by record ("data/KEY"), in either form: a zip archive, or the
// format before 1.6, a sequence of pickles with the storages at the end.
#pragma once

#include "base/files/descriptor.hpp"
#include "base/result.hpp"
#include "worker/model/weights/torch_pickle.hpp"

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>

namespace osora::worker {

/// Bytes in memory, shared by their users.
struct TorchRecord {
    std::shared_ptr<void> data;
    std::size_t bytes = 0;
};

class TorchRecords {
public:
    virtual ~TorchRecords() = default;
    /// The pickle's claims for the set `wanted`.
    [[nodiscard]] virtual Result<TorchWeights> weights(std::string_view wanted) = 0;
    [[nodiscard]] virtual bool has(std::string const& record) = 0;
    /// Of one that is there.
    [[nodiscard]] virtual std::int64_t bytes_of(std::string const& record) = 0;
    /// Reads one that is there.
    [[nodiscard]] virtual Result<TorchRecord> read(std::string const& record) = 0;
};

/// The open file, for LibTorch and osora; a read beyond its end is short.
class TorchFileBytes {
public:
    explicit TorchFileBytes(Descriptor file);
    [[nodiscard]] std::size_t size() const { return size_; }
    [[nodiscard]] std::size_t read(std::uint64_t from, void* out, std::size_t count) const;

private:
    Descriptor file_;
    std::size_t size_ = 0;
};

/// For a zip archive; LibTorch's exceptions pass through. corrupt: cut off, records that unpack to
/// more than the file, the other byte order.
[[nodiscard]] Result<std::unique_ptr<TorchRecords>> open_torch_archive(
    std::shared_ptr<TorchFileBytes const> file);

/// For a file from before torch 1.6. corrupt: cut off, or not such a file.
[[nodiscard]] Result<std::unique_ptr<TorchRecords>> open_legacy_torch_file(
    std::shared_ptr<TorchFileBytes const> file);

}  // namespace osora::worker
