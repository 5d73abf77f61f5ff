#include "worker/clips/clip_fault.hpp"

#include "base/text/printable.hpp"
#include "base/text/utf8.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>

namespace osora::worker {
namespace {

/// The beginning of a file that is text: a page of an error, a pointer of git-lfs.
std::string text_at_start(std::string const& path) {
    std::array<char, 40> bytes{};
    std::ifstream file(path, std::ios::binary);
    file.read(bytes.data(), bytes.size());
    std::string_view const start(bytes.data(), static_cast<std::size_t>(file.gcount()));
    auto const is_text = [](char c) {
        return (c >= ' ' && c <= '~') || c == '\n' || c == '\r' || c == '\t';
    };
    if (start.size() < 8 || !std::ranges::all_of(start, is_text)) return {};
    return std::string(start.substr(0, start.find_first_of("\r\n")));
}

}  // namespace

ClipFault fault_of(Error const& error, std::string const& path, double deadline_s) {
    std::error_code ignored;
    switch (error.code) {
        case Errc::not_found:
            return {"missing", "no such file"};
        case Errc::io:
            return {"unreadable", error.message};
        case Errc::timed_out:
            return {"slow", fmt::format("not done in {} s; --deadline gives more", deadline_s)};
        case Errc::out_of_memory:
            return {"too_large", error.message};
        default:
            break;
    }
    // To open a pipe would wait for its writer.
    if (!std::filesystem::is_regular_file(path, ignored)) return {"damaged", error.message};
    if (std::filesystem::file_size(path, ignored) == 0) return {"empty", "the file is empty"};
    std::string const text = text_at_start(path);
    if (!text.empty()) return {"damaged", fmt::format("no video but text: \"{}\"", text)};
    return {"damaged", error.message};
}

protocol::DamagedClip damaged_clip(int line, std::string const& name, ClipFault fault) {
    auto const said = [](std::string text) {
        return is_utf8(text) ? std::move(text) : printable(text);
    };
    return {.line = line,
            .path = said(name),
            .kind = std::move(fault.kind),
            .reason = said(std::move(fault.reason))};
}

}  // namespace osora::worker
