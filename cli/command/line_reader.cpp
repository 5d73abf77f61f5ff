// Reads 64 KiB at most at once.
#include "cli/command/line_reader.hpp"

#include <unistd.h>

#include <array>
#include <cerrno>

namespace osora::cli {

bool LineReader::has_line() const {
    return buffer_.find('\n', at_) != std::string::npos;
}

bool LineReader::fill() {
    std::array<char, 1 << 16> bytes{};
    ssize_t count = -1;
    do {
        count = ::read(descriptor_, bytes.data(), bytes.size());
    } while (count < 0 && errno == EINTR);
    if (count <= 0) {
        ended_ = true;
        return false;
    }
    buffer_.erase(0, at_);
    at_ = 0;
    buffer_.append(bytes.data(), static_cast<std::size_t>(count));
    return true;
}

std::optional<InputLine> LineReader::next() {
    InputLine line;
    std::size_t searched = 0;
    while (true) {
        std::size_t const end = buffer_.find('\n', at_ + searched);
        std::size_t const length = (end == std::string::npos ? buffer_.size() : end) - at_;
        if (length > limit_) {
            line.whole = false;  // its bytes are dropped as they arrive
            at_ = end == std::string::npos ? buffer_.size() : end;
        }
        if (end != std::string::npos) {
            line.text = line.whole ? buffer_.substr(at_, length) : "";
            at_ = end + 1;
            break;
        }
        searched = buffer_.size() - at_;
        if (!ended_ && fill()) continue;
        if (at_ == buffer_.size() && line.whole) return {};
        line.text = line.whole ? buffer_.substr(at_) : "";
        at_ = buffer_.size();
        break;
    }
    line.number = ++number_;
    return line;
}

}  // namespace osora::cli
