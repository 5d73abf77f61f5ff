// Bytes in pieces of any size to lines, ended by '\n' or '\r' (progress bars). Pure.
#pragma once

#include <string>
#include <string_view>

namespace osora::daemon {

class LineSplitter {
public:
    static constexpr std::size_t kLineMax = 1 << 14;  // the rest of a longer line is dropped

    /// Calls f(line) for each line that is complete now; empty ones are left out.
    template <class F>
    void feed(std::string_view bytes, F f) {
        while (!bytes.empty()) {
            auto const end = bytes.find_first_of("\r\n");
            auto const part = bytes.substr(0, end);
            rest_.append(part.substr(0, kLineMax - rest_.size()));
            if (end == std::string_view::npos) return;
            if (!rest_.empty()) f(std::string_view(rest_));
            rest_.clear();
            bytes.remove_prefix(end + 1);
        }
    }

private:
    std::string rest_;
};

}  // namespace osora::daemon
