// What one reader of /events has not taken yet: bounded, so that a reader that does not read costs
// little. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace osora {

class EventQueue {
public:
    static constexpr std::size_t kBytesMax = 64 << 10;  // waiting and being sent

    /// false: the reader is too far behind, and is dropped.
    [[nodiscard]] bool push(std::string_view event) {
        if (waiting_.size() + sending_ + event.size() > kBytesMax) return false;
        waiting_ += event;
        return true;
    }
    [[nodiscard]] bool is_empty() const { return waiting_.empty(); }
    /// What to send next; until sent() it still counts.
    [[nodiscard]] std::string take() {
        sending_ = waiting_.size();
        return std::exchange(waiting_, {});
    }
    void sent() { sending_ = 0; }

private:
    std::string waiting_;
    std::size_t sending_ = 0;
};

}  // namespace osora
