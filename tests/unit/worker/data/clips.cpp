#include "tests/unit/worker/data/clips.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <iterator>

namespace osora::worker {

namespace fs = std::filesystem;

TempFolder::TempFolder() {
    std::string pattern = (fs::temp_directory_path() / "osora-clips-XXXXXX").string();
    path_ = mkdtemp(pattern.data());
}

TempFolder::~TempFolder() {
    fs::remove_all(path_);
}

bool ffmpeg(std::vector<std::string> const& arguments) {
    std::vector<std::string> words{"ffmpeg", "-v", "quiet", "-nostdin", "-y"};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    posix_spawn_file_actions_t actions{};
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    pid_t child = 0;
    int const error = posix_spawnp(&child, "ffmpeg", &actions, nullptr, argv.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    if (error != 0) return false;
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool have_ffmpeg() {
    static bool const found = ffmpeg({"-version"});  // 0.1 s of CPU time
    return found;
}

bool make_clip(std::string const& path, std::string const& size, double seconds,
               std::vector<std::string> const& encoder) {
    std::vector<std::string> arguments{"-f",
                                       "lavfi",
                                       "-i",
                                       "testsrc2=size=" + size +
                                           ":rate=25:duration=" + std::to_string(seconds) +
                                           ",noise=alls=12:allf=t:all_seed=7",
                                       "-threads",
                                       "1"};
    arguments.insert(arguments.end(), encoder.begin(), encoder.end());
    arguments.push_back("file:" + path);
    return ffmpeg(arguments);
}

std::string all_frames(std::string const& path, std::string const& pix_fmt,
                       std::string const& scratch) {
    bool const done = ffmpeg({"-i", "file:" + path, "-vsync", "passthrough", "-pix_fmt", pix_fmt,
                              "-f", "rawvideo", "file:" + scratch});
    return done ? read_all(scratch) : std::string();
}

void write_turned(std::string const& from, std::string const& to, DisplayMatrix const& matrix) {
    std::string bytes = read_all(from);
    std::size_t const at = bytes.find("tkhd") + 44;
    for (std::size_t i = 0; i < matrix.size(); ++i) {
        for (std::size_t k = 0; k < 4; ++k)
            bytes.at(at + 4 * i + k) = static_cast<char>(matrix[i] >> (24 - 8 * k) & 0xFF);
    }
    write_all(to, bytes);
}

std::string read_all(std::string const& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

void write_all(std::string const& path, std::string const& content) {
    std::ofstream(path, std::ios::binary)
        .write(content.data(), static_cast<std::streamsize>(content.size()));
}

}  // namespace osora::worker
