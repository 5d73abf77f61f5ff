// "FILE#PART": a file, and which of the things in it is meant. Looks at the disk: a file that has
// '#' in its name and is there is whole.
#pragma once

#include <filesystem>
#include <string>

namespace osora {

struct PartOfFile {
    std::filesystem::path file;
    std::string part;  // "": all
};
[[nodiscard]] PartOfFile part_of_file(std::filesystem::path const& path);

}  // namespace osora
