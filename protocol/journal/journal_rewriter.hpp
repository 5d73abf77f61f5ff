// Replaces text in a journal: for a copy that leaves this machine.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace osora::protocol {

/// Changes the bodies that are plain JSON; measurements, which may be compressed, hold only figures
/// and pass unchanged. Fed with a journal that JournalReader has read.
class JournalRewriter {
public:
    using Change = std::function<std::string(std::string const&)>;
    explicit JournalRewriter(Change change) : change_(std::move(change)) {}

    /// The header and the whole records that `bytes` complete.
    [[nodiscard]] std::string feed(std::string_view bytes);

private:
    Change change_;
    std::string buffer_;
    bool has_header_ = false;
};

}  // namespace osora::protocol
