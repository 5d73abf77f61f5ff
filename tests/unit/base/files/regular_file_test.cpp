// Anything but a regular file is refused at once. A case that waits for a writer would not return;
// the limit of the whole program then ends it.
#include "base/files/regular_file.hpp"
#include "base/files/files.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <fstream>

namespace osora {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

class RegularFile : public testing::Test {
protected:
    void SetUp() override {
        std::string pattern = (fs::temp_directory_path() / "osora-regular-XXXXXX").string();
        folder_ = mkdtemp(pattern.data());
    }
    void TearDown() override { fs::remove_all(folder_); }

    void expect_refused(fs::path const& path, char const* what) {
        auto const opened = open_regular(path);
        ASSERT_TRUE(opened.has_error()) << path;
        EXPECT_EQ(opened.error().code, Errc::invalid_input);
        EXPECT_THAT(opened.error().message, AllOf(HasSubstr(path.string()), HasSubstr(what)));
        EXPECT_EQ(read_file(path).error().message, opened.error().message);
        EXPECT_EQ(check_regular(path).error().message, opened.error().message);
    }
    fs::path folder_;
};

TEST_F(RegularFile, OpensFilesAndWhatLinksToThem) {
    std::ofstream(folder_ / "file") << "text";
    fs::create_symlink("file", folder_ / "link");
    EXPECT_TRUE(open_regular(folder_ / "file", O_NOFOLLOW).has_value());
    EXPECT_TRUE(open_regular(folder_ / "link").has_value());
    EXPECT_TRUE(open_regular(folder_ / "link", O_NOFOLLOW).has_error());
    EXPECT_EQ(read_file(folder_ / "link").value(), "text");
    EXPECT_TRUE(read_file("/proc/self/stat").has_value());
    EXPECT_EQ(open_regular(folder_ / "none").error().code, Errc::not_found);
}

TEST_F(RegularFile, GivesABlockingDescriptorThatNoChildInherits) {
    std::ofstream(folder_ / "file") << "text";
    auto const file = open_regular(folder_ / "file");
    EXPECT_EQ(::fcntl(file->get(), F_GETFL) & O_NONBLOCK, 0);
    EXPECT_EQ(::fcntl(file->get(), F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
}

TEST_F(RegularFile, RefusesWhatIsNoFile) {
    fs::path const fifo = folder_ / "fifo", link = folder_ / "link", local = folder_ / "socket";
    ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
    fs::create_symlink(fifo, link);
    sockaddr_un name{AF_UNIX, {}};
    ASSERT_LT(local.string().size(), sizeof name.sun_path);
    local.native().copy(name.sun_path, sizeof name.sun_path - 1);
    Descriptor const socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    ASSERT_EQ(::bind(socket.get(), reinterpret_cast<sockaddr*>(&name), sizeof name), 0);
    expect_refused(folder_, "read: Is a directory");
    expect_refused(fifo, "it is a FIFO, expected a regular file");
    expect_refused(link, "it is a FIFO");
    expect_refused(local, "it is a socket");
    expect_refused("/dev/null", "it is a character device");
    expect_refused("/dev/zero", "it is a character device");
    EXPECT_EQ(open_regular(fifo, O_NOFOLLOW).error().code, Errc::invalid_input);
}

TEST_F(RegularFile, ReadsAStreamThatTheUserHandsOver) {
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    Descriptor const reader(ends[0]);
    Descriptor writer(ends[1]);
    ASSERT_EQ(::write(writer.get(), "text", 4), 4);
    writer.reset();
    EXPECT_EQ(read_file("/dev/fd/" + std::to_string(reader.get())).value(), "text");
    EXPECT_TRUE(is_stream_path("/dev/stdin"));
    EXPECT_FALSE(is_stream_path("/dev/null"));
}

}  // namespace
}  // namespace osora
