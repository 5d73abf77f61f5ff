#include "base/ids.hpp"

#include "base/check.hpp"

#include <fmt/format.h>
#include <sys/random.h>

#include <array>
#include <fstream>
#include <sstream>

namespace osora {
namespace {

template <std::size_t N>
std::array<unsigned char, N> random_bytes() {
    std::array<unsigned char, N> bytes{};
    auto const got = getrandom(bytes.data(), bytes.size(), 0);
    OSORA_CHECK_EQ(got, static_cast<ssize_t>(bytes.size()));
    return bytes;
}

template <std::size_t N>
std::string random_digits() {
    std::string text;
    for (unsigned char const byte : random_bytes<N>()) text += fmt::format("{:02x}", byte);
    return text;
}

}  // namespace

std::string make_uuid() {
    auto bytes = random_bytes<16>();
    bytes[6] = static_cast<unsigned char>((bytes[6] & 0x0f) | 0x40);
    bytes[8] = static_cast<unsigned char>((bytes[8] & 0x3f) | 0x80);
    std::string text;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
        text += fmt::format("{:02x}", bytes[i]);
    }
    return text;
}

std::string make_token() {
    return random_digits<32>();
}

std::string make_suffix() {
    return random_digits<8>();
}

bool equal_constant_time(std::string_view a, std::string_view b) {
    if (a.size() != b.size()) return false;
    unsigned char difference = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        difference = static_cast<unsigned char>(difference | (a[i] ^ b[i]));
    }
    return difference == 0;
}

Result<ProcessId> process_id_of(int pid) {
    std::ifstream file(fmt::format("/proc/{}/stat", pid));
    std::string line;
    if (!std::getline(file, line)) {
        return Error{Errc::not_found, fmt::format("process {}: not alive", pid)};
    }
    // "pid (comm) state ppid ...": comm may hold anything, so parse after the last ')'.
    std::istringstream rest(line.substr(line.rfind(')') + 1));
    std::string state;
    rest >> state;
    if (state == "Z" || state == "X") {
        return Error{Errc::not_found, fmt::format("process {}: has ended", pid)};
    }
    std::string skipped;
    for (int field = 4; field < 22; ++field) rest >> skipped;
    ProcessId process{.pid = pid, .start_ticks = 0};
    rest >> process.start_ticks;
    return process;
}

bool is_alive(ProcessId const& process) {
    auto const now = process_id_of(process.pid);
    return now.has_value() && *now == process;
}

std::string boot_id() {
    std::ifstream file("/proc/sys/kernel/random/boot_id");
    std::string id;
    std::getline(file, id);
    return id;
}

}  // namespace osora
