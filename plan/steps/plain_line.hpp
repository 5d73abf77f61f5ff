// A line of a program's output, normalised for the search for steps: lower case, without colours,
// bars and repeated blanks. Pure.
#pragma once

#include <array>
#include <string_view>

namespace osora::plan {

class PlainLine {
public:
    static constexpr std::size_t kMax = 1024;      // bytes of text that are kept
    static constexpr std::size_t kReadMax = 4096;  // only this many bytes of the line are read

    explicit PlainLine(std::string_view line);
    [[nodiscard]] std::string_view view() const { return {text_.data(), size_}; }

private:
    void add(char each);
    std::array<char, kMax> text_;
    std::size_t size_ = 0;
};

}  // namespace osora::plan
