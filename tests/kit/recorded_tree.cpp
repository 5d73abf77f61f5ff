#include "tests/kit/recorded_tree.hpp"

#include "base/files/files.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <regex>
#include <stdexcept>
#include <utility>

namespace osora::tests {
namespace {

namespace fs = std::filesystem;

std::string text_of_tree(std::string_view name) {
    fs::path const file =
        fs::path(OSORA_SOURCE_DIR) / "tests/data/topology" / (std::string(name) + ".tree");
    auto text = read_file(file);
    if (text.has_error()) throw std::runtime_error(text.error().message);
    return *text;
}

std::string_view trimmed(std::string_view text) {
    auto const first = text.find_first_not_of(" \t\r");
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

std::string with_line_ends(std::string_view content) {
    std::string text;
    for (std::size_t i = 0; i < content.size(); ++i) {
        bool const escape = content[i] == '\\' && i + 1 < content.size() && content[i + 1] == 'n';
        text += escape ? '\n' : content[i];
        if (escape) ++i;
    }
    return text + '\n';
}

void link_pci_device(fs::path const& root, std::string const& section) {
    static std::regex const kDevice(
        R"(sys/devices/pci.*/([0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.\d))");
    std::smatch match;
    if (!std::regex_match(section, match, kDevice)) return;
    fs::path const link = root / "sys/bus/pci/devices" / match[1].str();
    fs::create_directories(link.parent_path());
    std::error_code exists;
    fs::create_symlink("../../../" + section.substr(4), link, exists);
}

/// One line that is neither blank, a comment, a section nor an include.
void unpack_entry(std::string_view line, fs::path const& folder) {
    auto const equals = line.find(" =");
    auto const arrow = line.find(" -> ");
    auto const at = std::min(equals, arrow);
    if (at == std::string_view::npos) {
        if (!line.ends_with('/')) throw std::runtime_error("neither file, link nor folder");
        fs::create_directories(folder / line);
        return;
    }
    fs::path const path = folder / trimmed(line.substr(0, at));
    fs::create_directories(path.parent_path());
    if (at == arrow) {
        fs::remove(path);
        fs::create_symlink(trimmed(line.substr(at + 4)), path);
    } else {
        std::ofstream(path, std::ios::binary) << with_line_ends(trimmed(line.substr(at + 2)));
    }
}

}  // namespace

void unpack_tree(std::string_view text, fs::path const& root) {
    fs::create_directories(root);
    fs::path folder = root;
    for (int number = 1; !text.empty(); ++number) {
        std::size_t const end = std::min(text.find('\n'), text.size());
        std::string_view const line = trimmed(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
        if (line.empty() || line.starts_with('#')) continue;
        try {
            if (line.starts_with("@include ")) {
                unpack_tree(text_of_tree(trimmed(line.substr(9))), root);
            } else if (line.starts_with('[') && line.ends_with(']')) {
                std::string const section(line.substr(1, line.size() - 2));
                folder = root / section;
                fs::create_directories(folder);
                link_pci_device(root, section);
            } else {
                unpack_entry(line, folder);
            }
        } catch (std::runtime_error const& error) {
            throw std::runtime_error(fmt::format("line {}: {}: {}", number, line, error.what()));
        }
    }
}

RecordedTree::RecordedTree(std::string_view text) {
    // Hundreds of small files: in memory where that can be.
    bool const memory = ::access("/dev/shm", W_OK | X_OK) == 0;
    std::string made =
        (memory ? fs::path("/dev/shm") : fs::temp_directory_path()) / "osora-tree-XXXXXX";
    if (::mkdtemp(made.data()) == nullptr) throw std::runtime_error("mkdtemp " + made);
    root_ = made;
    unpack_tree(text, root_);
}

RecordedTree RecordedTree::named(std::string_view name) {
    return RecordedTree(text_of_tree(name));
}

RecordedTree::~RecordedTree() {
    std::error_code ignored;
    if (!root_.empty()) fs::remove_all(root_, ignored);
}

RecordedTree::RecordedTree(RecordedTree&& other) noexcept
    : root_(std::exchange(other.root_, fs::path())) {}

void RecordedTree::write(std::string const& path, std::string_view content) const {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path, std::ios::binary) << content;
}

void RecordedTree::remove(std::string const& path) const {
    fs::remove_all(root_ / path);
}

}  // namespace osora::tests
