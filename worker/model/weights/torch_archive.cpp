// The zip form. LibTorch reads it.
#include "worker/model/weights/torch_records.hpp"

#include <caffe2/serialize/inline_container.h>
#include <caffe2/serialize/read_adapter_interface.h>
#include <fmt/format.h>

namespace osora::worker {
namespace {

class ArchiveBytes : public caffe2::serialize::ReadAdapterInterface {
public:
    explicit ArchiveBytes(std::shared_ptr<TorchFileBytes const> file) : file_(std::move(file)) {}
    [[nodiscard]] std::size_t size() const override { return file_->size(); }
    std::size_t read(std::uint64_t from, void* out, std::size_t count, char const*) const override {
        return file_->read(from, out, count);
    }

private:
    std::shared_ptr<TorchFileBytes const> file_;
};

class TorchArchive final : public TorchRecords {
public:
    explicit TorchArchive(std::shared_ptr<TorchFileBytes const> file)
        : file_bytes_(file->size()), reader_(std::make_shared<ArchiveBytes>(std::move(file))) {}

    /// Records are stored, not compressed, so that together they are smaller than the file; an
    /// archive with other sizes could unpack to any size.
    Result<void> check() {
        std::size_t left = file_bytes_;
        for (std::string const& name : reader_.getAllRecords()) {
            std::size_t const bytes = reader_.getRecordSize(name);
            if (bytes > left) {
                return Error{Errc::corrupt, fmt::format("its records unpack to more than the {} "
                                                        "bytes of the file",
                                                        file_bytes_)};
            }
            left -= bytes;
        }
        if (!reader_.hasRecord("byteorder")) return {};
        std::string const order = text_of("byteorder");
        if (order == "little") return {};
        return Error{Errc::corrupt, fmt::format("its byte order is {}", order.substr(0, 16))};
    }

    Result<TorchWeights> weights(std::string_view wanted) override {
        return parse_torch_pickle(text_of("data.pkl"), wanted);
    }
    bool has(std::string const& record) override { return reader_.hasRecord(record); }
    std::int64_t bytes_of(std::string const& record) override {
        return static_cast<std::int64_t>(reader_.getRecordSize(record));
    }
    Result<TorchRecord> read(std::string const& record) override {
        auto [data, bytes] = reader_.getRecord(record);
        auto const held = std::make_shared<at::DataPtr>(std::move(data));
        return TorchRecord{std::shared_ptr<void>(held, held->get()), bytes};
    }

private:
    std::string text_of(std::string const& record) {
        auto const [data, bytes] = reader_.getRecord(record);
        return {static_cast<char const*>(data.get()), bytes};
    }

    std::size_t file_bytes_;
    caffe2::serialize::PyTorchStreamReader reader_;
};

}  // namespace

Result<std::unique_ptr<TorchRecords>> open_torch_archive(
    std::shared_ptr<TorchFileBytes const> file) {
    auto archive = std::make_unique<TorchArchive>(std::move(file));
    OSORA_TRY_VOID(archive->check());
    return std::unique_ptr<TorchRecords>(std::move(archive));
}

}  // namespace osora::worker
