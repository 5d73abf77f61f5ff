// A machine's files under a temporary folder, unpacked from one text: "path = content" and
// "path -> target" lines. For tests of what reads sysfs and /proc.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace osora::tests {

/// Writes the files of `text` below `root`. Lines:
///   # a comment
///   [sys/class/net/eth0]        paths below are inside it, until the next "[...]"; "[]" = the root
///   speed = 25000               a file; "\n" in the content is a new line, one is added at the end
///   device -> ../../../devices  a symbolic link
///   folder/                     an empty folder
///   @include NAME               the lines of tests/data/topology/NAME.tree stand here
/// A section "sys/devices/...pci.../0000:1b:00.0" also gets its link in sys/bus/pci/devices, as the
/// kernel makes it. Throws std::runtime_error with the line of what is none of these.
void unpack_tree(std::string_view text, std::filesystem::path const& root);

class RecordedTree {
public:
    /// Of `text`, or of nothing.
    explicit RecordedTree(std::string_view text = "");
    /// Of tests/data/topology/NAME.tree: "dgx_a100", "hgx_h100", "pcie_3090", "cpu_server",
    /// "cloud_vm".
    [[nodiscard]] static RecordedTree named(std::string_view name);
    ~RecordedTree();
    RecordedTree(RecordedTree&& other) noexcept;
    RecordedTree& operator=(RecordedTree&&) = delete;

    [[nodiscard]] std::filesystem::path const& root() const { return root_; }
    /// Replaces or adds a file; `content` as it is.
    void write(std::string const& path, std::string_view content) const;
    /// A file or a folder with all that is in it; a link alone, not what it leads to.
    void remove(std::string const& path) const;

private:
    std::filesystem::path root_;
};

}  // namespace osora::tests
