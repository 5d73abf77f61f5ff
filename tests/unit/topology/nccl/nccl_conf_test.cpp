// What a rank inherits: NCCL's files read to the letter (src/misc/param.cc), the order of its
// files, and the file of the machine that set a variable of the environment.
#include "topology/nccl/nccl_conf.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

namespace osora::topology {
namespace {

namespace fs = std::filesystem;

class NcclConf : public testing::Test {
protected:
    void SetUp() override {
        root_ = fs::path(testing::TempDir()) / ("nccl_conf_" + std::to_string(::getpid()));
        fs::remove_all(root_);
    }
    void TearDown() override { fs::remove_all(root_); }
    void write(std::string const& file, std::string const& text) {
        fs::create_directories((root_ / file).parent_path());
        std::ofstream(root_ / file, std::ios::binary) << text;
    }
    [[nodiscard]] std::vector<std::string> read(std::map<std::string, std::string> const& env) {
        std::vector<std::string> lines;
        for (auto const& each : read_inherited_settings(env, root_, "/home/eva")) {
            lines.push_back((each.effective ? "" : "(") + each.name + "=" + each.value +
                            (each.effective ? "" : ")") + " " + each.origin +
                            (each.note.empty() ? "" : " ! " + each.note));
        }
        return lines;
    }
    fs::path root_;
};

TEST(Assignments, NcclFilesAreReadToTheLetter) {
    struct Case {
        std::string text, name, value;
        bool taken;
        std::string note;
    };
    std::vector<Case> const cases{
        {"NCCL_DEBUG=WARN", "NCCL_DEBUG", "WARN", true, ""},
        {"NCCL_SOCKET_IFNAME==ens1f0\n", "NCCL_SOCKET_IFNAME", "=ens1f0", true, ""},
        {"NCCL_A=1\r\n", "NCCL_A", "1\r", true, "DOS line end"},
        {"NCCL_A=\"eth0\"\n", "NCCL_A", "\"eth0\"", true, "quotes are part"},
        {"NCCL_A=1 # why\n", "NCCL_A", "1 # why", true, ""},
        {"NCCL_A= 1\n", "NCCL_A", " 1", true, "blank is part"},
        {"export NCCL_A=1\n", "NCCL_A", "1", false, "takes 'export NCCL_A'"},
        {"NCCL_A =1\n", "NCCL_A", "1", false, "does nothing"},
        {"  NCCL_A=1\n", "NCCL_A", "1", false, "does nothing"},
        {"NCCL_A=" + std::string(2000, 'x'), "NCCL_A", std::string(1023, 'x'), true, "cut off"},
        {std::string("NCCL_A=a\0b\n", 11), "NCCL_A", "a", true, ""},
    };
    for (Case const& each : cases) {
        auto const found = parse_nccl_conf(each.text);
        ASSERT_EQ(found.size(), 1u) << each.text;
        EXPECT_EQ(found[0].name, each.name);
        EXPECT_EQ(found[0].value, each.value);
        EXPECT_EQ(found[0].taken, each.taken) << each.text;
        EXPECT_THAT(found[0].note, testing::HasSubstr(each.note)) << each.text;
        EXPECT_EQ(found[0].note.empty(), each.note.empty()) << each.text << ": " << found[0].note;
    }
    for (char const* none : {"", "#NCCL_A=1\n", "NCCL_A\n", "PATH=/bin\n", "=1\n", "NCCL_=1\n"}) {
        EXPECT_TRUE(parse_nccl_conf(none).empty()) << none;
    }
    EXPECT_TRUE(parse_nccl_conf(" #NCCL_A=1\n").empty()) << "no name that anybody reads";
    EXPECT_EQ(parse_nccl_conf("\n\nNCCL_A=1\nNCCL_A=2").at(1).line, 4);
}

TEST(Assignments, FilesThatMakeAnEnvironment) {
    struct Case {
        std::string text, value;
        bool exact;
    };
    std::vector<Case> const cases{
        {"NCCL_A=1\n", "1", true},
        {"export NCCL_A=eth0   # fast\n", "eth0", true},
        {"  export B=2 NCCL_A=\"a b\"; C=3\n", "a b", true},
        {"export B=\"x\" NCCL_A='=eth0'\r\n", "=eth0", true},
        {"setenv NCCL_A  ring,tree\n", "ring,tree", true},
        {"NCCL_A DEFAULT=106\n", "106", true},
        {"NCCL_A DEFAULT=1 OVERRIDE=${X}\n", "${X}", false},
        {"echo \"export NCCL_A=eth1\"\n", "eth1", true},
        {"print export NCCL_A=eth1\n", "eth1", true},
        {"echo 'NCCL_A=eth1'\n", "eth1", true},
        {"[ -d /sys/class/infiniband ] && export NCCL_A=1\n", "1", true},
        {"if x; then export NCCL_A=$(hostname); fi\n", "$(hostname", false},
    };
    for (Case const& each : cases) {
        auto const found = parse_environment_file("# first\n" + each.text);
        ASSERT_EQ(found.size(), 1u) << each.text;
        EXPECT_EQ(found[0].name, "NCCL_A");
        EXPECT_EQ(found[0].value, each.value) << each.text;
        EXPECT_EQ(found[0].exact, each.exact) << each.text;
        EXPECT_EQ(found[0].line, 2);
    }
    for (char const* none : {"# export NCCL_A=1\n", "unset NCCL_A\n", "export MY_NCCL_A=1\n",
                             "echo $NCCL_A\n", "test -n \"$NCCL_A\"\n"}) {
        EXPECT_TRUE(parse_environment_file(none).empty()) << none;
    }
    std::string many = "export";
    while (many.size() < (1 << 20)) many += " NCCL_A DEFAULT";
    EXPECT_TRUE(parse_environment_file(many).empty()) << "and in no time";
}

TEST_F(NcclConf, OrderIsThatOfNccl) {
    write("etc/nccl.conf", "NCCL_A=etc\nNCCL_B=etc\nNCCL_C=etc\nNCCL_C=again\nGLOO_X=1\n");
    write("home/eva/.nccl.conf", "NCCL_A=home\nNCCL_B=home\n");
    EXPECT_THAT(
        read({{"NCCL_A", "env"}, {"PATH", "/bin"}}),
        testing::ElementsAre("(GLOO_X=1) /etc/nccl.conf:5 ! read before NCCL opens its files",
                             "NCCL_A=env environment", "(NCCL_A=home) /home/eva/.nccl.conf:1",
                             "(NCCL_A=etc) /etc/nccl.conf:1", "NCCL_B=home /home/eva/.nccl.conf:2",
                             "(NCCL_B=etc) /etc/nccl.conf:2", "NCCL_C=etc /etc/nccl.conf:3",
                             "(NCCL_C=again) /etc/nccl.conf:4"));
    write("opt/n.conf", "NCCL_A=conf\n");
    EXPECT_THAT(read({{"NCCL_CONF_FILE", "/opt/n.conf"}}),
                testing::IsSupersetOf({"NCCL_A=conf /opt/n.conf:1", "NCCL_B=etc /etc/nccl.conf:2",
                                       "NCCL_CONF_FILE=/opt/n.conf environment"}));
    EXPECT_THAT(read({{"NCCL_CONF_FILE", "/opt/other"}}),
                testing::Contains("NCCL_CONF_FILE=/opt/other environment ! no such file, and "
                                  "~/.nccl.conf is not read in its place"));
    EXPECT_THAT(read({{"NCCL_CONF_FILE", "~/n"}}),
                testing::Contains(testing::HasSubstr("does not expand ~")));
    EXPECT_THAT(read({{"NCCL_CONF_FILE", "n"}}),
                testing::Contains(testing::HasSubstr("folder that a rank starts in")));
}

TEST_F(NcclConf, NamesTheFileThatSetsAVariable) {
    write("etc/profile.d/nccl.sh", "# site\n\n\nexport NCCL_ALGO=Tree\n");
    write("etc/profile.d/old.sh~", "export NCCL_ALGO=Tree\n");
    write("home/eva/.bashrc", "export NCCL_DEBUG=INFO\nexport NCCL_IB_TC=1\n");
    write("etc/slurm/task_prolog.sh", "echo export NCCL_SOCKET_IFNAME=eth0\n");
    write("etc/security/pam_env.conf", "NCCL_NET DEFAULT=Socket\nNCCL_X DEFAULT=@{HOME}\n");
    write(".singularity.d/env/10-docker2singularity.sh",
          "export NCCL_IB_HCA=\"${NCCL_IB_HCA:-\"mlx5\"}\"\n");
    EXPECT_THAT(read({{"NCCL_ALGO", "Tree"},
                      {"NCCL_DEBUG", "INFO"},
                      {"NCCL_IB_TC", "106"},
                      {"NCCL_IB_HCA", "mlx5"},
                      {"NCCL_NET", "Socket"},
                      {"NCCL_SOCKET_IFNAME", "eth0"}}),
                testing::ElementsAre(
                    "NCCL_ALGO=Tree environment, set by /etc/profile.d/nccl.sh:4",
                    "NCCL_DEBUG=INFO environment, set by /home/eva/.bashrc:1",
                    "NCCL_IB_HCA=mlx5 environment, perhaps set by "
                    "/.singularity.d/env/10-docker2singularity.sh:1",
                    "NCCL_IB_TC=106 environment",
                    "NCCL_NET=Socket environment, set by /etc/security/pam_env.conf:1",
                    "NCCL_SOCKET_IFNAME=eth0 environment, set by /etc/slurm/task_prolog.sh:1"));
    write("home/eva/.bashrc", "export NCCL_ALGO=Tree\n");
    EXPECT_THAT(read({{"NCCL_ALGO", "Tree"}}),
                testing::ElementsAre("NCCL_ALGO=Tree environment, set by "
                                     "/etc/profile.d/nccl.sh:4 and /home/eva/.bashrc:1"));
}

TEST_F(NcclConf, NothingThereIsNothing) {
    EXPECT_TRUE(read({}).empty());
    EXPECT_TRUE(read_inherited_settings({}, root_ / "none", "").empty());
    write("etc/nccl.conf", std::string(2 << 20, 'N'));
    EXPECT_TRUE(read({}).empty());
    fs::create_directories(root_ / "home/eva/.nccl.conf");
    EXPECT_TRUE(read({}).empty()) << "a folder of that name";
}

TEST_F(NcclConf, EnvironmentOfARecordedTree) {
    write("proc/self/environ", std::string("A=1\0NCCL_DEBUG=INFO\0NCCL_DEBUG=2\0broken\0", 40));
    auto const found = communication_variables(recorded_environment(root_));
    EXPECT_THAT(found, testing::ElementsAre(testing::Pair("NCCL_DEBUG", "INFO")));
    EXPECT_TRUE(recorded_environment(root_ / "none").empty());
}

TEST(Assignments, WhichVariablesCollectivesRead) {
    for (char const* name : {"NCCL_DEBUG", "TORCH_NCCL_X", "GLOO_SOCKET_IFNAME", "TP_SOCKET_IFNAME",
                             "TORCH_FR_BUFFER_SIZE"}) {
        EXPECT_TRUE(is_communication_variable(name)) << name;
    }
    for (char const* name : {"", "NCCL_", "nccl_debug", "XNCCL_A", "NCCL_A=B", "NCCL_A\n",
                             "OMP_NUM_THREADS", "GLOO", "NCCL_VERSION", "NV_LIBNCCL_PACKAGE"}) {
        EXPECT_FALSE(is_communication_variable(name)) << name;
    }
}

}  // namespace
}  // namespace osora::topology
