// Folders are opened to other users with chmod, and their owner is changed where the test may (as
// root).
#include "base/files/own_folder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

namespace osora {
namespace {

namespace fs = std::filesystem;

constexpr uid_t kSomebody = 4242;

int nine_bits(fs::path const& path) {
    struct stat facts {};
    EXPECT_EQ(::lstat(path.c_str(), &facts), 0) << path;
    return static_cast<int>(facts.st_mode & 0777);
}

std::string why_not(Result<void> const& checked) {
    return checked.has_value() ? "" : checked.error().message;
}

class OwnFolderTest : public testing::Test {
protected:
    void SetUp() override {
        std::string pattern = (fs::temp_directory_path() / "osora-own-XXXXXX").string();
        folder_ = mkdtemp(pattern.data());
    }
    void TearDown() override { fs::remove_all(folder_); }

    fs::path made(fs::path const& name, int mode) {
        fs::create_directory(folder_ / name);
        ::chmod((folder_ / name).c_str(), static_cast<mode_t>(mode));
        return folder_ / name;
    }
    fs::path folder_;
};

TEST_F(OwnFolderTest, MakesFoldersClosedWhateverTheUmask) {
    for (mode_t const mask : {0000, 0002, 0022, 0777}) {
        auto const before = ::umask(mask);
        auto const path = folder_ / std::to_string(mask) / "b" / "state";
        auto const own = make_own_folder(path);
        ::umask(before);
        ASSERT_TRUE(own.has_value()) << own.error().message;
        EXPECT_FALSE(own->mended);
        EXPECT_EQ(nine_bits(path), 0700);
        EXPECT_EQ(nine_bits(path.parent_path()) & 077, 0);
    }
}

TEST_F(OwnFolderTest, ClosesWhatWasOpenAndSaysSoOnce) {
    for (int const mode : {0755, 0775, 0777, 01777, 0701}) {
        auto const path = made("s", mode);
        auto own = make_own_folder(path);
        ASSERT_TRUE(own.has_value()) << own.error().message;
        EXPECT_TRUE(own->mended);
        EXPECT_EQ(own->old_mode, mode & 0777);
        EXPECT_EQ(nine_bits(path), 0700);
        own = make_own_folder(path);
        ASSERT_TRUE(own.has_value());
        EXPECT_FALSE(own->mended);
    }
}

TEST_F(OwnFolderTest, AFolderThatOthersWriteIsNotOurs) {
    for (int const mode : {0777, 01777, 0702}) {
        auto const path = made("s", mode);
        EXPECT_THAT(why_not(check_own_folder(path)), testing::HasSubstr("everybody may write"));
    }
    EXPECT_EQ(why_not(check_own_folder(made("s", 0755))), "");
    EXPECT_EQ(check_own_folder(folder_ / "none").error().code, Errc::not_found);
    std::ofstream(folder_ / "file") << "x";
    EXPECT_TRUE(check_own_folder(folder_ / "file").has_error());
}

TEST_F(OwnFolderTest, AParentThatOthersWriteIsReportedUnlessTrusted) {
    auto const above = made("group", 0777);
    auto const path = above / "state";
    auto const refused = make_own_folder(path);
    ASSERT_TRUE(refused.has_error());
    EXPECT_EQ(refused.error().code, Errc::invalid_input);
    EXPECT_THAT(refused.error().message, testing::AllOf(testing::StartsWith(above.string() + ":"),
                                                        testing::HasSubstr("chmod +t"),
                                                        testing::HasSubstr("OSORA_TRUST_PARENTS")));
    EXPECT_FALSE(fs::exists(path)) << "nothing is made before";
    EXPECT_TRUE(make_own_folder(path, Parents::believed).has_value());
    ::chmod(above.c_str(), 01777);
    EXPECT_TRUE(make_own_folder(path).has_value()) << "sticky: others cannot rename it";
}

TEST_F(OwnFolderTest, OwnLinksAreFollowed) {
    made("real", 0700);
    fs::create_symlink("real", folder_ / "link");
    EXPECT_EQ(why_not(check_own_folder(folder_ / "link")), "");
    fs::create_symlink("loop", folder_ / "loop");
    EXPECT_TRUE(check_own_folder(folder_ / "loop").has_error());
    made("open", 0777);
    fs::create_symlink(folder_ / "open", folder_ / "detour");
    EXPECT_THAT(why_not(check_own_folder(folder_ / "detour" / ".." / "real")), "")
        << "names, not what is behind a link";
    made("open/inside", 0700);
    EXPECT_THAT(why_not(check_own_folder(folder_ / "detour" / "inside")),
                testing::HasSubstr("everybody may write"));
}

TEST_F(OwnFolderTest, WhatBelongsToAnotherUserIsNotOurs) {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can give a folder away";
    auto const path = made("s", 0755);
    ASSERT_EQ(::chown(path.c_str(), kSomebody, kSomebody), 0);
    EXPECT_THAT(why_not(check_own_folder(path)), testing::HasSubstr("belongs to uid 4242"));
    EXPECT_TRUE(make_own_folder(path).has_error());
    EXPECT_EQ(nine_bits(path), 0755) << "left as it is";
    EXPECT_TRUE(make_own_folder(path / "below").has_error());
    made("mine", 0700);
    fs::create_symlink("mine", folder_ / "theirs");
    ASSERT_EQ(::lchown((folder_ / "theirs").c_str(), kSomebody, kSomebody), 0);
    EXPECT_THAT(why_not(check_own_folder(folder_ / "theirs")),
                testing::HasSubstr("a link of uid 4242"));
}

}  // namespace
}  // namespace osora
