#include "topology/pci_address.hpp"

#include <fmt/format.h>

#include <charconv>

namespace osora::topology {
namespace {

/// A hexadecimal number up to `end` ("" = up to the end of `text`), which is removed from `text`.
std::optional<unsigned> cut_number(std::string_view& text, std::string_view end) {
    auto const at = end.empty() ? text.size() : text.find(end);
    if (at == std::string_view::npos || at == 0) return {};
    unsigned value = 0;
    auto const [stop, error] = std::from_chars(text.data(), text.data() + at, value, 16);
    if (error != std::errc() || stop != text.data() + at) return {};
    text.remove_prefix(at + end.size());
    return value;
}

}  // namespace

std::optional<std::string> pci_address(std::string_view text) {
    bool const has_domain = text.find(':') != text.rfind(':');
    std::optional<unsigned> domain = 0;
    if (has_domain) domain = cut_number(text, ":");
    auto const bus = cut_number(text, ":");
    auto const device = cut_number(text, ".");
    auto const function = cut_number(text, "");
    if (!domain || !bus || !device || !function) return {};
    if (*bus > 0xff || *device > 0x1f || *function > 7) return {};
    return fmt::format("{:04x}:{:02x}:{:02x}.{:x}", *domain, *bus, *device, *function);
}

int pci_bus(std::string_view address) {
    unsigned bus = 0;
    auto const colon = address.find(':');
    if (colon == std::string_view::npos || address.size() < colon + 3) return -1;
    char const* const digits = address.data() + colon + 1;
    auto const [stop, error] = std::from_chars(digits, digits + 2, bus, 16);
    return error == std::errc() && stop == digits + 2 ? static_cast<int>(bus) : -1;
}

}  // namespace osora::topology
