// A spill in an unnamed file in the node's temporary folder: it disappears with the agent.
#pragma once

#include "base/files/descriptor.hpp"
#include "daemon/agent/report_queue.hpp"

#include <cstdint>
#include <filesystem>

namespace osora::daemon {

class FileSpill final : public Spill {
public:
    static constexpr std::int64_t kBytesMax = 256 << 20;

    /// In `folder`; opened at first use.
    explicit FileSpill(std::filesystem::path folder, std::int64_t bytes_max = kBytesMax)
        : folder_(std::move(folder)), bytes_max_(bytes_max) {}

    [[nodiscard]] Result<void> push(std::string_view record) override;
    [[nodiscard]] Result<std::optional<std::string>> pop() override;

private:
    [[nodiscard]] Result<void> open();
    [[nodiscard]] Result<void> write_at(std::int64_t offset, std::string_view bytes);
    [[nodiscard]] Result<std::string> read_at(std::int64_t offset, std::size_t size);

    std::filesystem::path folder_;
    std::int64_t bytes_max_;
    Descriptor file_;
    std::int64_t begin_ = 0, end_ = 0;  // range of the stored records, in bytes
};

}  // namespace osora::daemon
