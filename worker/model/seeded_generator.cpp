#include "worker/model/seeded_generator.hpp"

#include <ATen/CPUGeneratorImpl.h>

namespace osora::worker {

at::Generator generator_for(std::uint64_t seed, std::string_view name) {
    // FNV-1a over the name, started from the seed.
    std::uint64_t key = 14695981039346656037ull ^ (seed * 0x9E3779B97F4A7C15ull);
    for (char const c : name) key = (key ^ static_cast<unsigned char>(c)) * 1099511628211ull;
    return at::make_generator<at::CPUGeneratorImpl>(key);
}

}  // namespace osora::worker
