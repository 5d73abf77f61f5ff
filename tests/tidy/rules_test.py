#!/usr/bin/env python3
"""Shows each tidy rule a small tree that breaks it and one that does not."""
import sys
import textwrap
import unittest
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.dont_write_bytecode = True
import cpp_source  # noqa: E402
import rules  # noqa: E402


def load_program():
    loader = SourceFileLoader("tidy", str(HERE / "tidy"))
    module = module_from_spec(spec_from_loader("tidy", loader))
    loader.exec_module(module)
    return module


def found(files):
    """Names of the broken rules, sources registered so that only the content counts. A string is
    the content of plan/a.cpp."""
    files = {"plan/a.cpp": files} if isinstance(files, str) else files
    files = {path: textwrap.dedent(text) for path, text in files.items()}
    for path in list(files):
        folder, _, name = path.rpartition("/")
        if rules.is_cpp(path):
            files.setdefault(f"{folder.split('/')[0]}/CMakeLists.txt", "")
            inside = path.split("/", 1)[1]
            files[f"{folder.split('/')[0]}/CMakeLists.txt"] += f" {inside}\n"
    return {finding.rule for finding in rules.check_all(files)}


# rule: ([trees that break it], [trees that do not]); a string is the content of plan/a.cpp.
CASES = {
    "arrow": ([
        '// x\n#include "worker/model/a.hpp"\n',
        {"worker/a.cpp": '// x\n#include "db/store/store.hpp"\n'},
        {"worker/a.cpp": '// x\n#include "topology/live/tcp.hpp"\n'},
        {"db/a.cpp": '// x\n#  include "plan/layout.hpp"\n'},
        {"cli/a.cpp": "// x\n#include <torch/types.h>\n"},
        {"cli/a.cpp": "// x\n#include <sqlite3.h>\n"},
        {"plan/CMakeLists.txt": "osora_library(osora_plan SOURCES a.cpp LINK osora_db)"},
        {"daemon/CMakeLists.txt": "osora_program(osorad LINK osora_torch)"},
    ], [
        '// x\n#include "base/result.hpp"\n#include "topology/cluster.hpp"\n#include <vector>\n',
        '// x\n// #include "worker/a.hpp" is what this must not do\nchar const* s = "#include";\n',
        {"worker/a.cpp": '// x\n#include "plan/layout.hpp"\n#include <ATen/core/Tensor.h>\n'},
        {"topology/live/a.cpp": '// x\n#include "topology/live/b.hpp"\n'},
        {"daemon/CMakeLists.txt": "osora_program(osorad LINK osora_topology_probe osora_db)"},
        {"tests/e2e/a.cpp": '// x\n#include "daemon/run.hpp"\n'},
    ]),
    "heavy_header": ([
        {"daemon/a.hpp": "// x\n#include <boost/asio.hpp>\n"},
        {"worker/a.hpp": "// x\n#include <torch/torch.h>\n"},
    ], [
        {"daemon/a.cpp": "// x\n#include <boost/asio.hpp>\n"},
        {"daemon/a_internal.hpp": "// x\n#include <boost/asio.hpp>\n"},
        {"worker/a.hpp": "// x\n#include <torch/nn/module.h>\n"},
    ]),
    "file_lines": ([
        "// x\n" + "int a;\n" * 400, {"plan/a.hpp": "// x\n" + "int a;\n" * 150},
    ], ["// x\n" + "int a;\n" * 399, {"plan/a.hpp": "// x\n" + "int a;\n" * 149}]),
    "function_lines": ([
        "// x\nint f() {\n" + "    g();\n" * 69 + "}\n",
        "// x\nA::A(int a) : a_{a}, b_(a) {\n" + "    g();\n" * 69 + "}\n",
        "// x\nstruct A {\n    template <class T>\n    void f(T a = {}) const {\n" + "g();\n" * 69
        + "    }\n};\n",
    ], [
        "// x\nint f() {\n" + "    g();\n" * 68 + "}\n",
        "// x\nnamespace a {\nstruct B {\n" + "    int c;\n" * 90 + "};\n}\n",
        "// x\nconstexpr std::array kA{\n" + "    S{f(1), 2},\n" * 90 + "};\n",
        "// x\n" + "int f() { return 1; }\n" * 90,
    ]),
    "columns": (["// " + "x" * 98 + "\n"], ["// " + "x" * 97 + "\n"]),
    "parameters": ([
        "// x\nvoid f(int a, int b, int c, int d, int e, int g) {}\n",
        "// x\n[[nodiscard]] R<int> f(std::map<int, int> a, int b, int c, int d, int e, int g);\n",
        "// x\nstruct A {\n    virtual void f(int a, int b, int c, int d, int e, int g) = 0;\n};\n",
    ], [
        "// x\nvoid f(std::map<int, int> a, int b, F<void(int, int)> c, int d, int e) {}\n",
        "// x\nvoid f() { g(1, 2, 3, 4, 5, 6, 7); }\n",
        "// x\nBOOST_DESCRIBE_STRUCT(A, (), (a, b, c, d, e, f));\nMACRO(a, b, c, d, e, f);\n",
        "// x\nBOOST_DESCRIBE_ENUM(A, a, b, c, d, e, f)\n\nstruct B {\n    int a;\n};\n",
        "// x\nBOOST_DESCRIBE_ENUM(A, a, b, c, d, e, f)\nint g(int a) { return a; }\n",
        {"scheduler_plugins/nccl_tuner/tuner.c":
         "// x\nint get(int a, int b, int c, int d, int e, int f) { return a; }\n"},
    ]),
    "opening_comment": (
        ["#include <vector>\n", {"plan/a.hpp": "#pragma once\n"}],
        ["// What it is.\n#include <vector>\n",
         {"plan/a.hpp": "// x\n", "plan/a.cpp": "#include <a>\n"},
         {"tests/unit/plan/a_test.cpp": "#include <vector>\n"}]),
    "new_delete": (
        ["// x\nauto a = new int[3];\n", "// x\nvoid f() { delete p; }\n"],
        ["// x\nA(A const&) = delete;\nA& operator=(A&&)= delete;\n// a new thing; delete it\n",
         '// x\n#include <new>\nchar const* s = "new thing";\nint new_size;\n']),
    "detached": (["// x\nco_spawn(e, f(), asio::detached);\n"],
                 [{"daemon/main.cpp": "// x\nco_spawn(e, f(), asio::detached);\n"},
                  "// x\nbool detached = true;\n"]),
    "catch_all": (["// x\nvoid f() {\n    try {\n    } catch (...) {\n    }\n}\n"],
                  [{"cli/main.cpp": "// x\nint main() try {\n} catch (...) {\n}\n"},
                   "// x\nvoid f() {\n    try {\n    } catch (A const&) {\n    }\n}\n"]),
    "shell": (['// x\nint a = std::system("ls");\n', '// x\nauto a = popen("ls", "r");\n'],
              ["// x\nboost::system::error_code e = file_system(a);\nx.system(1);\n"]),
    "unsafe_c": (["// x\nvoid f() { strcpy(a, b); }\n", "// x\nvoid f() { std::sprintf(a, b); }\n"],
                 ["// x\nvoid f() { std::snprintf(a, 3, b); }\n"]),
    "rand": (["// x\nint a = rand();\n", "// x\nvoid f() { std::srand(1); }\n"],
             ["// x\nauto a = torch::rand(3);\nauto b = operand(c);\nauto d = at::randn(1);\n"]),
    "getenv": (['// x\nauto a = std::getenv("A");\n'],
               [{"worker/main.cpp": '// x\nauto a = std::getenv("A");\n'},
                {"tests/e2e/a_test.cpp": '// x\nauto a = getenv("A");\n'},
                {"scheduler_plugins/a/a.c": '// x\nchar* a = getenv("A");\n'}]),
    "sleep_in_test": ([{"tests/unit/a/a_test.cpp": "// x\nstd::this_thread::sleep_for(1s);\n"},
                       {"tests/unit/a/a_test.cpp": "// x\nvoid f() { ::sleep(1); }\n"}],
                      [{"daemon/a.cpp": "// x\nstd::this_thread::sleep_for(1s);\n"},
                       {"tests/unit/a/a_test.cpp": "// x\nauto a = env.sleep(1s);\n"}]),
    "measured_time": (
        [{"tests/unit/a/a_test.cpp": "// x\nTEST(A, B) { EXPECT_LT(took.count() / 3, 2.0); }\n"},
         {"tests/e2e/a_test.cpp": "TEST(A, B) { ASSERT_LE(elapsed_s, 2); }\n"},
         {"tests/e2e/a_test.cpp":
          "TEST(A, B) { EXPECT_LT(std::chrono::steady_clock::now() - begin, 10s); }\n"}],
        [{"tests/unit/a/a_test.cpp": 'TEST(A, B) { EXPECT_LT(count, 2) << "took " << took; }\n'},
         {"tests/unit/a/a_test.cpp": "TEST(A, B) { RecordProperty(name, took); }\n"},
         {"tests/unit/a/a_test.cpp": "TEST(A, B) { EXPECT_LT(took, 2); }\n",
          "tests/unit/a/CMakeLists.txt": "osora_test(t TIER soak SOURCES a_test.cpp)"},
         {"bench/a.cpp": "// x\nvoid f() { EXPECT_LT(took, 2); }\n"}]),
    "short_wait": (
        [{"tests/e2e/a_test.cpp": "TEST(A, B) { EXPECT_EQ(wait_for_exit(10), 0); }\n"},
         {"tests/e2e/a_test.cpp": "TEST(A, B) { await_event<RankStarted>(1, 20); }\n"},
         {"tests/e2e/a.hpp": "// x\nvoid await_end(double limit_s = 20);\n"},
         {"tests/cluster/a_test.cpp": "TEST(A, B) { eventually([&] { return f(1, 2); }, 5); }\n"},
         {"tests/kit/a.hpp": "// x\nbool f() { return p.wait(std::chrono::seconds(5)); }\n"}],
        [{"tests/e2e/a_test.cpp": "TEST(A, B) { all_gone(0); wait_for_exit(kPatience_s); }\n"},
         {"tests/e2e/a_test.cpp": "TEST(A, B) { await_steps(10); wait(); wait(100); }\n"},
         {"tests/e2e/a_test.cpp": "TEST(A, B) { eventually([&] { return f(1, 2); }); }\n"},
         {"tests/unit/a/a_test.cpp": "TEST(A, B) { wait(5); }\n"}]),
    "short_run": (
        [{"tests/e2e/a_test.cpp":
          'auto a = "steps = 300";\nTEST(A, B) { ::kill(id, SIGSTOP); }\n'},
         {"tests/e2e_cli/a_test.cpp":
          'TEST(A, B) { start({"--set", "train.steps=300"}); osora({"cancel"}); }\n'}],
        [{"tests/e2e/a_test.cpp":
          'auto a = "steps = 100000";\nTEST(A, B) { ::kill(id, SIGKILL); }\n'},
         {"tests/e2e/a_test.cpp": 'auto a = "steps = 300";\nTEST(A, B) { wait(); }\n'},
         {"tests/e2e/a_test.cpp": "int steps = 0;\nTEST(A, B) { ::kill(id, SIGKILL); }\n"},
         {"tests/e2e/a_test.cpp": 'auto a = "steps = 300";\nauto b = "OSORA_MOCK_HOLD=20";\n'
                                  "TEST(A, B) { ::kill(id, SIGKILL); }\n"}]),
    "cout": (["// x\nvoid f() { std::cout << 1; }\n"],
             [{"cli/command/print.cpp": "// x\nvoid f() { std::cout << 1; }\n"}, "// std::cout\n"]),
    "skip_without_reason": (
        [{"tests/unit/a/a_test.cpp": "TEST(A, B) { GTEST_SKIP(); }\n"}],
        [{"tests/unit/a/a_test.cpp": 'TEST(A, B) { GTEST_SKIP() << "why"; }\n'}]),
    "disabled_test": ([{"tests/unit/a/a_test.cpp": "TEST(A, DISABLED_B) {}\n"}],
                      [{"tests/unit/a/a_test.cpp": 'TEST(A, B) { f("DISABLED_"); }\n'}]),
    "co_await": ([
        "// x\nT f() { auto a = co_await g(A{1}); }\n",
        "// x\nT f() { co_await run([&] { return 1; }); }\n",
        "// x\nT f() { if (co_await g(h({1, 2}))) return; }\n",
        "// x\nasio::awaitable<void> f(std::string const& name) { co_return; }\n",
        "// x\nasio::awaitable<void> f(int a, std::string&& name);\n",
        "// x\nasio::awaitable<void> f(std::string_view const& name);\n",
    ], [
        "// x\nT f() { auto const a = A{1}; auto b = co_await g(a, table[i]); }\n",
        "// x\nT f() { if (co_await g(a)) { h(A{1}); } }\n",
        "// x\nT f() { co_await run([] { return 1; }); }\n",
        "// x\nasio::awaitable<void> f(std::string name, Env& env) { co_return; }\n",
    ]),
    "commented_code": (
        ["// x\n// return a + b;\n", "// x\n    // foo(bar, 1);\n", "// x\n// if (a) {\n",
         "// x\n// a.b = c;\n", "// x\n// }\n", "// x\n// std::string a;\n"],
        ["// Returns at once when nothing is there; the caller waits.\n// x = the value of f().\n",
         "// if the peer is gone;\n// see sync() (linux);\n/// foo(bar);\n"]),
    "folder_files": ([{f"plan/{number}.toml": "" for number in range(41)}],
                     [{f"plan/{number % 2}/{number}.toml": "" for number in range(41)}]),
    "folder_cycle": (
        [{"cli/a/x.cpp": '// x\n#include "cli/b/y.hpp"\n',
          "cli/b/y.hpp": '// x\n#include "cli/c/z.hpp"\n',
          "cli/c/z.hpp": '// x\n#include "cli/a/x.hpp"\n'}],
        [{"cli/a/x.cpp": '// x\n#include "cli/b/y.hpp"\n',
          "cli/b/y.hpp": '// x\n#include "cli/b/w.hpp"\n',
          "cli/z.cpp": '// x\n#include "cli/a/x.hpp"\n'}]),
    "mirror": (
        [{"plan/a/b.hpp": "// x\n", "tests/unit/plan/b_test.cpp": ""},
         {"plan/a/b.hpp": "// x\n", "tests/unit/plan_a/kit.hpp": "// x\n"}],
        [{"plan/a/b.hpp": "// x\n", "tests/unit/plan/a/b_test.cpp": ""},
         {"plan/a/b.hpp": "// x\n", "tests/unit/plan/c_test.cpp": ""},
         {"plan/a/b.hpp": "// x\n", "plan/c/b.hpp": "// x\n", "tests/unit/plan/b_test.cpp": ""}]),
    "todo": (["// TO" "DO later\n"], ["// mkdtemp wants a-XXXX" "XX\n"]),
    "machine_path": (["// see /wo" "rk/a\n", {"README.md": "cd /ro" "ot/a\n"}],
                     ["// see docs/work/a and ${X}/work/b\n", {"README.md": "a place/root/x\n"}]),
    "cited_document": (
        ["// x: docs/architecture.md\n", "// x (docs/rfc/011)\n", {"a.toml": "# see HACKING.md\n"},
         {"docs/rfc/011-detection.md": "see docs/rfc/011-other.md\n"},
         {"docs/guide/a.md": "[b](../b.md)\n", "docs/guide/b.md": ""}],
        [{"plan/a.cpp": "// x (docs/rfc/011), docs/rfc/011-detection.md.\n",
          "docs/rfc/011-detection.md": "README.md and [a](../a.md#b)\n", "docs/a.md": "",
          "README.md": "[a](docs/a.md), [b](https://example.org/docs/b.md)\n"},
         "// x: https://example.org/docs/a.md, ${X}/docs/b.md and docs/man/osora.1\n"]),
    "words": (["// What a worker is told.\n", {"README.md": "processes left behind\n"}],
              ["// Runs told apart by their number, what is left behind_.\n",
               {"tests/unit/plan/a_test.cpp": "// What a worker is told.\n"}]),
    "registry_host": ([{"README.md": "from py" "pi.org\n"}], [{"README.md": "from PyPI\n"}]),
}


class Rules(unittest.TestCase):
    def test_bad_is_caught_and_good_is_not(self):
        for rule, (bad, good) in CASES.items():
            for index, tree in enumerate(bad):
                with self.subTest(rule=rule, bad=index):
                    self.assertIn(rule, found(tree))
            for index, tree in enumerate(good):
                with self.subTest(rule=rule, good=index):
                    self.assertNotIn(rule, found(tree))

    def test_every_rule_has_a_case(self):
        source = (HERE / "rules.py").read_text()
        named = set(rules.re.findall(r'Finding\("(\w+)"', source))
        named |= {row[0] for row in rules.BANNED} | {row[0] for row in rules.TEXT_RULES}
        self.assertEqual(named - {"unregistered"}, set(CASES))

    def test_unregistered(self):
        def broken(files):
            return [f.path for f in rules.check_registered(files)]
        good = {"plan/a.cpp": "", "plan/CMakeLists.txt": "osora_library(p SOURCES a.cpp)",
                "tests/unit/plan/CMakeLists.txt": "osora_test(t SOURCES a_test.cpp sub/b_test.cpp)",
                "tests/unit/plan/a_test.cpp": "", "tests/unit/plan/sub/b_test.cpp": "",
                "tests/e2e/mock_main.cpp": ""}
        self.assertEqual(broken(good), [])
        self.assertEqual(broken({**good, "plan/b.cpp": ""}), ["plan/b.cpp"])
        self.assertEqual(broken({**good, "tests/unit/plan/aa_test.cpp": ""}),
                         ["tests/unit/plan/aa_test.cpp"])
        lost = {"worker/model/CMakeLists.txt": "", "worker/CMakeLists.txt": ""}
        self.assertEqual(broken({**good, **lost}), ["worker/model/CMakeLists.txt"])
        for path, text in (("CMakeLists.txt", "add_subdirectory(worker/model)"),
                           ("worker/CMakeLists.txt", "foreach(folder data model)")):
            self.assertEqual(broken({**good, **lost, path: text}), [])


class Reading(unittest.TestCase):
    def test_functions(self):
        source = cpp_source.Source(textwrap.dedent('''\
            namespace a {
            struct B : C<int> {
                explicit B(int x) : x_{x} {}
                bool operator()(int a, int b) const { return a < b; }
            };
            auto const kTable = std::array{S{"{", f(1)}};
            std::string g(char c = '}', R r = {}) {
                if (c) {
                }
                return R"(})";
            }
            }  // namespace a
            '''))
        sizes = [(f.line, f.lines, len(cpp_source.parameters(f.header))) for f in source.functions()
                 if f.lines]
        self.assertEqual(sizes, [(3, 1, 1), (4, 1, 2), (7, 5, 2)])


class Ratchet(unittest.TestCase):
    def test_only_goes_down(self):
        judge = load_program().judge
        findings = [rules.Finding("cout", "a", 1, "m"), rules.Finding("cout", "a", 2, "m")]
        self.assertEqual(len(judge(findings, {})[0]), 2)
        self.assertEqual(len(judge(findings, {("cout", "a"): 1})[0]), 2)
        self.assertEqual(judge(findings, {("cout", "a"): 2}), ([], {}))
        self.assertEqual(judge(findings, {("cout", "a"): 3})[1], {("cout", "a"): 2})
        self.assertEqual(len(judge([], {("cout", "a"): 1})[0]), 1)


if __name__ == "__main__":
    unittest.main()
