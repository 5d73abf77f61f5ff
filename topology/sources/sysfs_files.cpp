// Reads small files of sysfs with one open and one read, so that a tree of hundreds takes
// milliseconds.
#include "base/files/descriptor.hpp"
#include "base/files/regular_file.hpp"
#include "base/text/text.hpp"
#include "topology/pci_address.hpp"
#include "topology/sources/sysfs_internal.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>

namespace osora::topology::sysfs {
namespace {

constexpr std::size_t kTextBytesMax = 64 << 10;
constexpr std::size_t kNamesMax = 4096;

bool is_digit(char each) {
    return each >= '0' && each <= '9';
}

/// The digits at the start of `text`, without leading zeros; removes them.
std::string_view cut_digits(std::string_view& text) {
    std::size_t end = 0;
    while (end < text.size() && is_digit(text[end])) ++end;
    std::string_view digits = text.substr(0, end);
    text.remove_prefix(end);
    while (digits.size() > 1 && digits.front() == '0') digits.remove_prefix(1);
    return digits;
}

}  // namespace

std::string text_in(fs::path const& file) {
    auto const opened = open_regular(file);
    if (opened.has_error()) return {};
    std::string text;
    std::array<char, 4096> piece;
    while (text.size() < kTextBytesMax) {
        auto const count = ::read(opened->get(), piece.data(), piece.size());
        if (count <= 0) break;  // an attribute without a value now: EINVAL
        text.append(piece.data(), static_cast<std::size_t>(count));
        // sysfs returns a whole page at once: a shorter read is the end.
        if (static_cast<std::size_t>(count) < piece.size() / 2) break;
    }
    return std::string(trimmed(text));
}

std::optional<long long> number_in(fs::path const& file) {
    std::string const text = text_in(file);
    bool const hex = text.starts_with("0x");
    char const* const begin = text.data() + (hex ? 2 : 0);
    long long value = 0;
    auto const [end, error] =
        std::from_chars(begin, text.data() + text.size(), value, hex ? 16 : 10);
    if (error != std::errc() || end != text.data() + text.size()) return {};
    return value;
}

bool natural_less(std::string_view a, std::string_view b) {
    while (!a.empty() && !b.empty()) {
        if (is_digit(a.front()) && is_digit(b.front())) {
            auto const left = cut_digits(a);
            auto const right = cut_digits(b);
            if (left.size() != right.size()) return left.size() < right.size();
            if (left != right) return left < right;
        } else {
            if (a.front() != b.front()) return a.front() < b.front();
            a.remove_prefix(1);
            b.remove_prefix(1);
        }
    }
    return a.size() < b.size();
}

std::vector<std::string> names_in(fs::path const& folder) {
    std::vector<std::string> names;
    std::error_code error;
    for (fs::directory_iterator at(folder, error), end;
         !error && at != end && names.size() < kNamesMax; at.increment(error)) {
        names.push_back(at->path().filename().string());
    }
    std::ranges::sort(names, natural_less);
    return names;
}

std::string_view line_value(std::string_view text, std::string_view key) {
    while (!text.empty()) {
        std::size_t const end = std::min(text.find('\n'), text.size());
        std::string_view const line = text.substr(0, end);
        if (line.starts_with(key)) return trimmed(line.substr(key.size()));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return {};
}

double speed_gt_s(std::string_view text) {
    double value = 0;
    auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || !std::isfinite(value) || value <= 0 || value > 1024) return 0;
    std::string_view const unit(end, text.data() + text.size());
    return trimmed(unit).starts_with("GT/s") ? value : 0;
}

PcieLink link_in(fs::path const& device) {
    auto const width = [&](char const* name) {
        auto const lanes = number_in(device / name).value_or(0);
        return lanes > 0 && lanes <= 32 ? static_cast<int>(lanes) : 0;  // 255, 63: not known
    };
    return {.current_gt_s = speed_gt_s(text_in(device / "current_link_speed")),
            .max_gt_s = speed_gt_s(text_in(device / "max_link_speed")),
            .current_width = width("current_link_width"),
            .max_width = width("max_link_width")};
}

std::string address_of(fs::path const& device) {
    // The folder may belong to a part (virtio2), which is below the PCI function.
    for (fs::path const& link : {device, device.parent_path()}) {
        std::error_code error;
        fs::path at = fs::read_symlink(link, error);
        for (; !error && at.has_filename() && at.has_parent_path(); at = at.parent_path()) {
            std::string const name = at.filename().string();
            if (name.starts_with("usb")) return {};
            if (auto const address = pci_address(name)) return *address;
        }
    }
    std::string const uevent = text_in(device / "uevent");
    return pci_address(line_value(uevent, "PCI_SLOT_NAME=")).value_or("");
}

std::string driver_of(fs::path const& device) {
    std::error_code error;
    auto const target = fs::read_symlink(device / "driver", error);
    if (!error) return target.filename().string();
    return std::string(line_value(text_in(device / "uevent"), "DRIVER="));
}

int numa_in(fs::path const& device) {
    auto const node = number_in(device / "numa_node").value_or(-1);
    return node >= 0 && node < 4096 ? static_cast<int>(node) : -1;
}

}  // namespace osora::topology::sysfs
