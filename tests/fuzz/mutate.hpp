// Random damage to bytes, from a seed: flips, cuts, repeats, splices, and changes that know JSON.
#pragma once

#include <random>
#include <string>
#include <vector>

namespace osora::fuzz {

class Mutator {
public:
    explicit Mutator(std::uint64_t seed) : random_(seed) {}

    /// A few changes to one of `corpus`.
    [[nodiscard]] std::string mutate(std::vector<std::string> const& corpus) {
        std::string bytes = corpus[pick(corpus.size())];
        for (std::size_t i = 1 + pick(6); i > 0; --i) change(bytes, corpus);
        return bytes;
    }
    [[nodiscard]] std::size_t pick(std::size_t count) { return random_() % count; }

private:
    void change(std::string& bytes, std::vector<std::string> const& corpus) {
        static std::vector<std::string> const kTokens{"null",       "-1",
                                                      "1e999",      "9223372036854775808",
                                                      "2147483647", "-2147483648",
                                                      "\"\"",       "[]",
                                                      "{}",         "[[[[[[[[[[[[[[[[",
                                                      "true",       "\"\\ud800\"",
                                                      "0.1",        std::string(1, '\0'),
                                                      "\xff\xfe"};
        std::size_t const at = pick(bytes.size() + 1);
        std::size_t const length = pick(std::min<std::size_t>(bytes.size() - at, 16) + 1);
        switch (pick(7)) {
            case 0:
                if (at < bytes.size()) bytes[at] = static_cast<char>(bytes[at] ^ (1 << pick(8)));
                break;
            case 1:
                bytes.erase(at, length);
                break;
            case 2:
                bytes.insert(at, bytes.substr(at, length));
                break;
            case 3:
                bytes.resize(at);
                break;
            case 4:
                bytes.insert(at, kTokens[pick(kTokens.size())]);
                break;
            case 5:
                replace_value(bytes, kTokens[pick(kTokens.size())]);
                break;
            default: {
                std::string const& other = corpus[pick(corpus.size())];
                bytes = bytes.substr(0, at) + other.substr(std::min(at, other.size()));
            }
        }
    }

    /// Puts `token` where a member's value stands.
    void replace_value(std::string& bytes, std::string const& token) {
        std::size_t const colon = bytes.find("\":", pick(bytes.size() + 1));
        if (colon == std::string::npos) return;
        std::size_t const end = bytes.find_first_of(",}]", colon);
        if (end != std::string::npos) bytes.replace(colon + 2, end - colon - 2, token);
    }

    std::mt19937_64 random_;
};

}  // namespace osora::fuzz
