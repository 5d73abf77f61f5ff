// Splits bytes that arrive in pieces into lines, ended by '\n' or '\r' (progress bars). Pure.
#pragma once

#include <string>
#include <string_view>

namespace osora {

class LineSplitter {
public:
    static constexpr std::size_t kLineMax = 1 << 14;  // the rest of a longer line is dropped

    /// Calls f(line) for each line that is now complete; empty lines are left out.
    template <class F>
    void feed(std::string_view bytes, F f) {
        feed_while(bytes, [&](std::string_view line) {
            f(line);
            return true;
        });
    }

    /// The same until f(line) is false; returns how many of the bytes were consumed.
    template <class F>
    std::size_t feed_while(std::string_view bytes, F f) {
        std::size_t taken = 0;
        bool go_on = true;
        while (go_on && taken < bytes.size()) {
            auto const rest = bytes.substr(taken);
            auto const end = rest.find_first_of("\r\n");
            if (!cut_) rest_.append(rest.substr(0, end).substr(0, kLineMax - rest_.size()));
            if (end == std::string_view::npos) return bytes.size();
            taken += end + 1;
            if (!cut_ && !rest_.empty()) go_on = f(std::string_view(rest_));
            cut_ = false;
            rest_.clear();
        }
        return taken;
    }

    /// Bytes before the next ones are missing: the rest of the current line is dropped.
    void cut() {
        rest_.clear();
        cut_ = true;
    }

private:
    std::string rest_;
    bool cut_ = false;
};

}  // namespace osora
