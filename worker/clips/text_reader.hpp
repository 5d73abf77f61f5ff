// Words in pictures, found by Tesseract: a module that is loaded when text is asked for
// (worker/text_module), so that nothing else loads it, and a build can do without it.
#pragma once

#include "base/result.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

namespace osora::worker {

/// Pixels [left, left + width) x [top, top + height).
struct TextBox {
    int left = 0, top = 0, width = 0, height = 0;
};

struct RgbPicture {
    std::span<std::uint8_t const> rgb;  // (height, width, 3)
    int height = 0, width = 0;
};

/// For one thread.
class TextReader {
public:
    virtual ~TextReader() = default;
    /// One box for each word that Tesseract is sure of by 60 of 100, with at least 2 letters or
    /// digits, in the order of reading. Errors: out_of_memory.
    [[nodiscard]] virtual Result<std::vector<TextBox>> read(RgbPicture const& picture) = 0;
};

/// Share of the picture that lies in at least one box, 0 to 1.
[[nodiscard]] double covered_share(std::vector<TextBox> const& boxes, int height, int width);

/// beside_program("libosora_text.so").
[[nodiscard]] std::filesystem::path text_module_path();

/// Loads the module once for the process. invalid_input: it is not there, belongs to another
/// version, or Tesseract's English data is missing.
[[nodiscard]] Result<std::unique_ptr<TextReader>> open_text_reader(
    std::filesystem::path const& module);

/// What the module exports as osora_text_module(). A change of this struct or of TextReader needs
/// another version.
constexpr int kTextModuleVersion = 1;
struct TextModule {
    int version = kTextModuleVersion;
    Result<std::unique_ptr<TextReader>> (*make)() = nullptr;
};

}  // namespace osora::worker
