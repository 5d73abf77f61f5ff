// torch/serialization.py, _legacy_save: a magic number, the protocol, sizes of types, what was
// saved and the keys of the storages, each a pickle; then each storage, its count of elements (8
// bytes, little-endian) and its bytes.
#include "worker/model/weights/torch_records.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <vector>

namespace osora::worker {
namespace {

constexpr std::size_t kPicklesBytesMax = std::size_t{64} << 20;
constexpr std::array<char, 10> kMagic{'\x6c', '\xfc', '\x9c', '\x46', '\xf9',
                                      '\x20', '\x6a', '\xa8', '\x50', '\x19'};

Error damaged_legacy(std::string message) {
    return {Errc::corrupt, std::move(message)};
}

class LegacyFile final : public TorchRecords {
public:
    explicit LegacyFile(std::shared_ptr<TorchFileBytes const> file) : file_(std::move(file)) {}

    Result<void> open() {
        head_.resize(std::min(file_->size(), kPicklesBytesMax));
        head_.resize(file_->read(0, head_.data(), head_.size()));
        constexpr std::size_t kMagicWithin = 32;
        auto const begin = std::string_view(head_).substr(0, kMagicWithin);
        if (begin.find(std::string_view(kMagic.data(), kMagic.size())) == begin.npos) {
            return invalid("a bare pickle, which torch.save did not write");
        }
        for (int i = 0; i < 2; ++i) OSORA_TRY_VOID(next());
        OSORA_TRY(auto const system, next());
        OSORA_TRY_VOID(check_byte_order(system));
        OSORA_TRY(saved_, next());
        OSORA_TRY(auto const keys, next());
        return find_storages(keys);
    }

    Result<TorchWeights> weights(std::string_view wanted) override {
        return torch_weights(saved_, wanted);
    }
    bool has(std::string const& record) override { return places_.contains(record); }
    std::int64_t bytes_of(std::string const& record) override { return places_.at(record).bytes; }
    Result<TorchRecord> read(std::string const& record) override {
        auto const [from, bytes] = places_.at(record);
        auto const size = static_cast<std::size_t>(bytes);
        auto const data = std::make_shared<std::vector<std::byte>>(size);
        if (file_->read(static_cast<std::uint64_t>(from), data->data(), size) < size) {
            return damaged_legacy("cut off or damaged: " + record);
        }
        return TorchRecord{std::shared_ptr<void>(data, data->data()), size};
    }

private:
    struct Place {
        std::int64_t from = 0, bytes = 0;
    };

    Result<Pickle> next() {
        auto pickle = read_pickle(std::string_view(head_).substr(at_));
        if (pickle.has_value()) at_ += pickle->bytes;
        return pickle;
    }

    static Result<void> check_byte_order(Pickle const& system) {
        auto const& items = system.at(system.root).items;
        for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
            if (system.at(items[i]).text != "little_endian") continue;
            if (system.at(items[i + 1]).number == 1) return {};
            return damaged_legacy("its byte order is big");
        }
        return damaged_legacy("it does not say its byte order");
    }

    /// Bytes of an element of each storage, by key, as the saved pickle names their types.
    [[nodiscard]] std::map<std::string_view, std::int64_t> widths() const {
        std::map<std::string_view, std::int64_t> found;
        for (PickleValue const& each : saved_.values) {
            if (each.kind != PickleKind::persistent) continue;
            auto const& parts = saved_.at(each.items.front()).items;
            if (parts.size() < 3) continue;
            found[saved_.at(parts[2]).text] = width_of_storage(saved_.at(parts[1]).text);
        }
        return found;
    }

    Result<void> find_storages(Pickle const& keys) {
        auto const known = widths();
        auto const size = static_cast<std::int64_t>(file_->size());
        auto at = static_cast<std::int64_t>(at_);
        for (PickleId const id : keys.at(keys.root).items) {
            std::string_view const key = keys.at(id).text;
            std::int64_t count = 0;
            auto const width = known.find(key);
            bool const there = file_->read(static_cast<std::uint64_t>(at), &count, 8) == 8;
            at += 8;
            if (width == known.end() || width->second == 0 || !there || count < 0 ||
                count > (size - at) / width->second) {
                return damaged_legacy(fmt::format("cut off or damaged at its storage {}", key));
            }
            places_[fmt::format("data/{}", key)] = {at, count * width->second};
            at += count * width->second;
        }
        return {};
    }

    std::shared_ptr<TorchFileBytes const> file_;
    std::string head_;  // all pickles
    std::size_t at_ = 0;
    Pickle saved_;
    std::map<std::string, Place> places_;
};

}  // namespace

Result<std::unique_ptr<TorchRecords>> open_legacy_torch_file(
    std::shared_ptr<TorchFileBytes const> file) {
    auto legacy = std::make_unique<LegacyFile>(std::move(file));
    OSORA_TRY_VOID(legacy->open());
    return std::unique_ptr<TorchRecords>(std::move(legacy));
}

}  // namespace osora::worker
