"""The tidy rules. Each check takes what it looks at and yields Finding(rule, path, line, message,
value); tidy, the program, adds up the values per rule and path and compares with ratchet.txt."""
import posixpath
import re
from typing import NamedTuple

import cpp_source

HEADER_LINES_MAX = 150
SOURCE_LINES_MAX = 400
FUNCTION_LINES_MAX = 70
COLUMNS_MAX = 100
FOLDER_FILES_MAX = 40
PARAMETERS_MAX = 5

# docs/architecture.md: folder -> folders it may include.
ARROWS = {
    "base": {"base"},
    "protocol": {"base", "protocol"},
    "topology": {"base", "topology"},
    "plan": {"base", "protocol", "topology", "plan"},
    "slurm": {"base", "protocol", "topology", "plan", "slurm"},
    "db": {"base", "protocol", "db"},
    "daemon": {"base", "protocol", "topology", "topology/live", "plan", "slurm", "db", "daemon"},
    "worker": {"base", "protocol", "topology", "plan", "worker"},
    "cli": {"base", "protocol", "topology", "plan", "slurm", "db", "cli"},
    "scheduler_plugins": {"scheduler_plugins"},
}
# Headers of the system in a folder that is called like one of ours.
SYSTEM_HEADERS = {"slurm/slurm.h", "slurm/spank.h"}
# Libraries that only some folders may include (tests and benchmarks may include any).
LIBRARIES = [
    (re.compile(r"^(?:torch|ATen|c10|caffe2)/"), {"worker"}),
    (re.compile(r"^lib(?:av|sw)\w+/"), {"worker"}),
    (re.compile(r"^(?:sqlite3\.h|SQLiteCpp/)"), {"db"}),
    (re.compile(r"^libssh/"), {"daemon"}),
    (re.compile(r"^(?:nccl\.h|cuda\w*\.h|nvml\.h)$"), {"worker", "topology", "scheduler_plugins"}),
]
LINKED_LIBRARIES = {"osora_torch": {"worker"}, "PkgConfig::ffmpeg": {"worker"},
                    "SQLiteCpp": {"db"}}
HEAVY = re.compile(r"^(?:boost/(?:asio|beast)\.hpp|torch/(?:torch|all|extension)\.h|sqlite3\.h"
                   r"|SQLiteCpp/.*|lib(?:av|sw)\w+/.*|libssh/.*|nccl\.h|cuda_runtime\w*\.h)$")
PRIVATE_HEADER = re.compile(r"(?:^|/)(?:detail|private)/|_(?:internal|private|detail)\.hpp$")

MAIN = re.compile(r"(?:^|/)(?:main|\w+_main)\.cpp$")
# Functions that NCCL calls, with the parameters that it passes.
FOREIGN_SIGNATURES = re.compile(r"scheduler_plugins/(?:nccl_tuner/tuner\.c|tuner\.hpp)$")
CATCH_ALL_ALLOWED = MAIN
NOT_MEMBER = r"(?<![\w.>:])(?:::|std::)?"
# (rule, pattern, message, where it is allowed, folders it applies to or None for all)
BANNED = [
    ("new_delete", re.compile(r"\bnew\b\s*[\w:(<]|(?<!=)(?<!= )\bdelete\b"),
     "use make_unique or a container", None, None),
    ("detached", re.compile(r"::detached\b"), "a task nobody owns: use TaskGroup", MAIN, None),
    ("catch_all", re.compile(r"\bcatch\s*\(\s*\.\.\.\s*\)"), "catch (...) outside the boundaries",
     CATCH_ALL_ALLOWED, None),
    ("shell", re.compile(NOT_MEMBER + r"(?:system|popen)\s*\("),
     "a shell: pass an argv array", None, None),
    ("unsafe_c", re.compile(NOT_MEMBER + r"(?:strcpy|strcat|v?sprintf|gets)\s*\("),
     "writes without a bound", None, None),
    ("rand", re.compile(NOT_MEMBER + r"s?rand\s*\("),
     "unseeded, global: use Env's generator", None, None),
    ("getenv", re.compile(r"\b(?:secure_)?getenv\s*\("), "the environment is read once, in main",
     re.compile(MAIN.pattern + r"|^(?:tests|bench|scheduler_plugins)/"), None),
    ("sleep_in_test", re.compile(r"\b(?:sleep_for|sleep_until|usleep|nanosleep)\b|" + NOT_MEMBER
                                 + r"sleep\s*\("),
     "tests wait for events, not for time", None, {"tests"}),
    ("cout", re.compile(r"\bstd::cout\b"), "libraries do not print",
     re.compile(MAIN.pattern + r"|^(?:cli|tests|bench)/"), None),
    ("skip_without_reason", re.compile(r"\bGTEST_SKIP\s*\(\s*\)\s*;"),
     "say why it is skipped", None, None),
    ("disabled_test", re.compile(r"\bDISABLED_"), "a test that never runs", None, None),
]
# Tests that start processes, and their waits: name -> how many arguments a call with a limit has;
# the limit is the last. tests/kit/patience.hpp has the one to use, kPatience_s.
STARTS_PROCESSES = re.compile(r"^tests/(?:(?:e2e|cluster)\w*/|kit/)")
PATIENCE_S = 60
WAITS = {"wait": 1, "wait_for_exit": 1, "all_gone": 1, "nothing_left": 1, "await_end": 1,
         "eventually": 2, "await_event": 2, "await_steps": 2, "await_metrics": 2}
WAIT_CALL = re.compile(r"\b(" + "|".join(WAITS) + r")\s*(?:<[\w:]+>)?\s*\(")
LIMIT_DEFAULT = re.compile(r"\blimit_s\s*=\s*(\d+(?:\.\d+)?)\b")
SHORT_RUN_STEPS = 10_000
DISTURBS = re.compile(r"\bkill\s*\(|\bSIG(?:KILL|STOP|TERM|INT)\b|\bcancel\b")
BOUND = re.compile(r"\b(?:EXPECT|ASSERT)_[LG][TE]\s*\(")
MEASURED_TIME = re.compile(r"\b\w*(?:took|elapsed|seconds_since|duration)\w*\b|\bbest_ms\b"
                           r"|\w*clock::now\b", re.I)
TEXT_RULES = [
    ("todo", re.compile(r"\b(?:TODO|FIXME|XXX)\b"), "finish it or file it"),
    ("machine_path", re.compile(r"(?<![\w.$})\]])/(?:work|root)/[\w.]"), "a path of one machine"),
    ("registry_host", re.compile(
        r"\b(?:pypi\.org|pythonhosted\.org|npmjs\.(?:org|com)|deb\.debian\.org|archive\.ubuntu\.com"
        r"|crates\.io|proxy\.golang\.org)\b"), "a package registry's host name"),
]
# A document of this tree: its path from the root, the number of an RFC, a link in a document.
CITED = re.compile(r"(?<![\w/.-])(docs/rfc/\d{3}(?![\w.-]*\.md)|docs/[\w./-]*\.md"
                   r"|(?:HACKING|NEWS|README)\.md)\b")
LINKED = re.compile(r"\]\(([\w./-]+\.md)(?:#[\w-]*)?\)")
# Home-made words, and what the field says: docs/glossary.md. Product, documents and scripts only.
WORDS = re.compile(r"\b(?:told(?! apart)|teller|held against|errands?|leash|left behind"
                   r"|last words)\b", re.I)
WORDS_FOLDERS = re.compile(r"^(?:tests|bench)/|^db/migrations/")
CODE_IN_COMMENT = re.compile(
    r"^//\s*(?:\}+;?|#\s*include\b.*|(?:if|for|while|switch) \(.*\) ?\{|return\b.*;"
    r"|(?:auto|const|int|std::)\S*\s.*;|[\w:.>-]+\(.*\);|[\w.>\[\]-]+ [-+*/|&]?= .*;)$")


class Finding(NamedTuple):
    rule: str
    path: str
    line: int
    message: str
    value: int = 1


def is_cpp(path):
    return path.endswith((".cpp", ".hpp", ".h", ".c", ".cc", ".cu", ".cuh"))


def folder_of(path):
    return path.split("/", 1)[0]


def included_folder(include):
    """The folder of the arrow table that an include path belongs to, or None."""
    folder = include.split("/", 1)[0]
    if include in SYSTEM_HEADERS:
        return None
    if include.startswith("topology/live/"):
        return "topology/live"
    return folder if folder in ARROWS and "/" in include else None


def check_arrows(path, source):
    folder = folder_of(path)
    for line, include in source.includes():
        target = included_folder(include)
        if folder in ARROWS and target and target not in ARROWS[folder]:
            if not (target == "topology/live" and path.startswith("topology/live/")):
                yield Finding("arrow", path, line, f"{folder} may not include {include}")
        for pattern, allowed in LIBRARIES:
            if folder in ARROWS and pattern.search(include) and folder not in allowed:
                yield Finding("arrow", path, line, f"{folder} may not include {include}")
        if path.endswith(".hpp") and HEAVY.search(include) and not PRIVATE_HEADER.search(path):
            yield Finding("heavy_header", path, line,
                          f"{include} in a public header: move it to the .cpp or an _internal.hpp")


def check_links(path, text):
    """Arrows between targets, in a folder's CMakeLists.txt."""
    folder = folder_of(path)
    if folder not in ARROWS:
        return
    text = re.sub(r"#[^\n]*", "", text)
    for match in re.finditer(r"\bosora_([a-z]+)\w*|PkgConfig::ffmpeg|\bSQLiteCpp\b", text):
        allowed = LINKED_LIBRARIES.get(match.group())
        up = match[1] in ARROWS and match[1] not in ARROWS[folder]
        if up or (allowed and folder not in allowed):
            line = text.count("\n", 0, match.start()) + 1
            yield Finding("arrow", path, line, f"{folder} may not link {match.group()}")


def check_sizes(path, source):
    lines = source.text.count("\n")
    limit = HEADER_LINES_MAX if path.endswith((".hpp", ".h")) else SOURCE_LINES_MAX
    if lines > limit:
        message = f"{lines} lines, limit {limit}: one noun, one file"
        yield Finding("file_lines", path, 1, message, lines)
    for function in source.functions():
        if function.lines > FUNCTION_LINES_MAX:
            yield Finding("function_lines", path, function.line,
                          f"function of {function.lines} lines, limit {FUNCTION_LINES_MAX}")
        count = len(cpp_source.parameters(function.header))
        if count > PARAMETERS_MAX and not FOREIGN_SIGNATURES.search(path):
            yield Finding("parameters", path, function.line,
                          f"{count} parameters, limit {PARAMETERS_MAX}: use an options struct")


def check_columns(path, text):
    for number, line in enumerate(text.split("\n"), 1):
        if len(line) > COLUMNS_MAX and "sha256" not in line:
            yield Finding("columns", path, number, f"{len(line)} columns, limit {COLUMNS_MAX}")


def check_opening(path, source, all_paths):
    """Headers, and sources without a header of their name, open with a comment."""
    if path.endswith("_test.cpp") or path.rsplit(".", 1)[0] + ".hpp" in all_paths - {path}:
        return
    if not source.text.lstrip().startswith(("//", "/*")):
        yield Finding("opening_comment", path, 1,
                      "open with what it is, who drives it, what is fatal")


def check_banned(path, source):
    for rule, pattern, message, allowed, folders in BANNED:
        if (allowed and allowed.search(path)) or (folders and folder_of(path) not in folders):
            continue
        for match in pattern.finditer(source.no_directives):
            text = f"{match.group().strip()}: {message}"
            yield Finding(rule, path, source.line_of(match.start()), text)


def check_coroutines(path, source):
    for position, expression in cpp_source.await_expressions(source.no_directives):
        if fault := cpp_source.await_fault(expression):
            yield Finding("co_await", path, source.line_of(position), fault)
    for function in source.functions():
        if "awaitable<" not in function.header.split("(")[0]:
            continue
        for parameter in cpp_source.parameters(function.header):
            if "&&" in parameter or ("&" in parameter and re.search(r"\bconst\b", parameter)):
                yield Finding("co_await", path, function.line,
                              f"coroutine parameter '{parameter}': take it by value")


def soak_only(files):
    """Test sources that no program of the gate is made of."""
    tiers = {}
    for path, text in files.items():
        folder = path.rpartition("/")[0]
        if not path.startswith("tests/") or not path.endswith("CMakeLists.txt"):
            continue
        for block in re.findall(r"\bosora_test\(([^)]*)\)", text):
            tier = re.search(r"\bTIER\s+(\S+)", block)
            for source in re.findall(r"[\w./-]+\.cpp", block):
                tiers.setdefault(f"{folder}/{source}", set()).add(tier[1] if tier else "gate")
    return {path for path, found in tiers.items() if found == {"soak"}}


def check_measured_time(path, source):
    """A gate test that compares a measured time with a bound depends on what else runs."""
    code = source.no_directives
    for match in BOUND.finditer(code):
        arguments = code[match.end():cpp_source.closing(code, match.end() - 1)]
        if found := MEASURED_TIME.search(arguments):
            yield Finding("measured_time", path, source.line_of(match.start()),
                          f"{found.group()}: a time is compared with a bound: to bench/, or count")


def check_waits(path, source):
    """Limits of waits in tests that start processes are guards against hanging."""
    code = source.no_directives
    limits = [(match.start(), match[1]) for match in LIMIT_DEFAULT.finditer(code)]
    for match in WAIT_CALL.finditer(code):
        inside = code[match.end():cpp_source.closing(code, match.end() - 1)]
        arguments = cpp_source.split_arguments(inside)
        if len(arguments) >= WAITS[match[1]]:
            limits.append((match.start(), arguments[-1]))
    for position, text in limits:
        literal = re.fullmatch(r"(?:std::chrono::seconds\()?(\d+(?:\.\d+)?)s?\)?", text)
        if literal and 0 < float(literal[1]) < PATIENCE_S:
            yield Finding("short_wait", path, source.line_of(position),
                          f"a wait of {text} s: use kPatience_s")


def check_short_runs(path, source):
    """A run that a test disturbs must not end by itself before the test has done so."""
    if "OSORA_MOCK_HOLD" in source.bare or not DISTURBS.search(source.bare):
        return
    for match in re.finditer(r"\bsteps\s*=\s*([\d']+)", source.bare):
        if 0 < int(match[1].replace("'", "") or 0) < SHORT_RUN_STEPS:
            yield Finding("short_run", path, source.line_of(match.start()),
                          f"{match.group()}: may end before it is disturbed: OSORA_MOCK_HOLD, or "
                          f"{SHORT_RUN_STEPS:,} steps and a stop")


def check_comments(path, source):
    for line, comment in source.comments:
        if CODE_IN_COMMENT.match(comment):
            yield Finding("commented_code", path, line, "code in a comment: delete it")


def check_text(path, text):
    for rule, pattern, message in TEXT_RULES:
        for match in pattern.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            yield Finding(rule, path, line, f"{match.group()}: {message}")


def check_cited(path, text, all_paths):
    """Documents that a file cites are in the tree."""
    folder = posixpath.dirname(path)
    cited = [(match, match[1]) for match in CITED.finditer(text)]
    if path.endswith(".md"):
        cited += [(match, posixpath.normpath(posixpath.join(folder, match[1])))
                  for match in LINKED.finditer(text)]
    for match, document in cited:
        there = document in all_paths if document.endswith(".md") else any(
            each.startswith(document + "-") for each in all_paths)
        if not there:
            line = text.count("\n", 0, match.start()) + 1
            yield Finding("cited_document", path, line, f"{match[1]}: no such document")


def check_words(path, text):
    if WORDS_FOLDERS.search(path):
        return
    for match in WORDS.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        yield Finding("words", path, line, f"{match.group()}: say it with the field's word")


def check_registered(files):
    """files: {path: text}. Every source is named in a CMakeLists.txt of its folder or one above."""
    lists = {path.rpartition("/")[0]: text for path, text in files.items()
             if path.endswith("CMakeLists.txt")}
    names = {folder: set(re.findall(r"[\w./-]+", text)) for folder, text in lists.items()}
    for path in files:
        test = path.startswith("tests/") and re.search(r"_test\.(?:cpp|py)$", path)
        product = folder_of(path) in ARROWS and path.endswith((".cpp", ".c", ".cu"))
        if not test and not product:
            continue
        folder = path.rpartition("/")[0]
        while folder and not (folder in names and path[len(folder) + 1:] in names[folder]):
            folder = folder.rpartition("/")[0]
        if not folder:
            yield Finding("unregistered", path, 1, "in no CMakeLists.txt: it is never built or run")
    for folder in lists:
        parts = folder.split("/")
        named = any("/".join(parts[depth:]) in names.get("/".join(parts[:depth]), ())
                    for depth in range(len(parts)))
        by_itself = re.fullmatch(r"(?:tests/)?[^/]+|tests/unit/.+", folder)
        if folder and not by_itself and not named:
            yield Finding("unregistered", folder + "/CMakeLists.txt", 1,
                          "no add_subdirectory names it")


def check_folders(all_paths):
    """A folder that is read at one glance: its own files, without those of its folders."""
    own = {}
    for path in all_paths:
        own.setdefault(path.rpartition("/")[0], []).append(path)
    for folder, paths in own.items():
        if len(paths) > FOLDER_FILES_MAX:
            yield Finding("folder_files", folder, 1, f"{len(paths)} files, limit "
                          f"{FOLDER_FILES_MAX}: give what belongs together a folder", len(paths))


def check_cycles(files):
    """The folders of cli/ include each other in one direction only: no cycle."""
    arrows = {}
    for path, text in files.items():
        if not path.startswith("cli/") or not is_cpp(path):
            continue
        folder = path.split("/")[1] if path.count("/") > 1 else ""
        for include in re.findall(r'^\s*#\s*include "cli/(?:(\w+)/)?[^"]+"', text, re.M):
            if include != folder:
                arrows.setdefault(folder, {}).setdefault(include, path)
    done, stack = set(), []

    def cycle_from(folder):
        if folder in stack:
            yield stack[stack.index(folder):] + [folder]
        elif folder not in done:
            stack.append(folder)
            for included in sorted(arrows.get(folder, ())):
                yield from cycle_from(included)
            stack.pop()
            done.add(folder)

    for folder in sorted(arrows):
        for cycle in cycle_from(folder):
            names = " -> ".join(f"cli/{name}" for name in cycle)
            yield Finding("folder_cycle", arrows[cycle[0]][cycle[1]], 1, names)


def check_mirror(all_paths):
    """tests/unit has the folders of the product: tests/unit/a/b/x_test.cpp tests a/b/x.hpp."""
    folders, headers = set(), {}
    for path in all_paths:
        folder, _, name = path.rpartition("/")
        if folder_of(path) in ARROWS:
            folders.update(folder.rsplit("/", up)[0] for up in range(folder.count("/") + 1))
            if name.endswith(".hpp"):
                headers.setdefault((folder_of(path), name[:-4]), set()).add(folder)
    for path in all_paths:
        if not path.startswith("tests/unit/"):
            continue
        folder, _, name = path.removeprefix("tests/unit/").rpartition("/")
        if folder not in folders:
            yield Finding("mirror", path, 1, f"the product has no folder {folder}")
        tested = headers.get((folder_of(folder), name.removesuffix("_test.cpp")), ())
        if name.endswith("_test.cpp") and len(tested) == 1 and folder not in tested:
            yield Finding("mirror", path, 1, f"tests a header of {next(iter(tested))}")


def check_cpp(path, text, all_paths, soak):
    source = cpp_source.Source(text)
    for check in (check_arrows, check_sizes, check_banned, check_coroutines, check_comments):
        yield from check(path, source)
    if path.startswith("tests/") and path not in soak:
        yield from check_measured_time(path, source)
    if STARTS_PROCESSES.search(path):
        yield from check_waits(path, source)
        yield from check_short_runs(path, source)
    yield from check_opening(path, source, all_paths)


def check_all(files):
    """Findings of every rule. files: {path from the root: text}."""
    all_paths, soak = set(files), soak_only(files)
    for path, text in files.items():
        if is_cpp(path):
            yield from check_cpp(path, text, all_paths, soak)
        if is_cpp(path) or path.endswith(".py") or path.startswith("scripts/") and "." not in path:
            yield from check_columns(path, text)
        if path.endswith("CMakeLists.txt"):
            yield from check_links(path, text)
        if not path.startswith("tests/tidy/"):
            yield from check_text(path, text)
            yield from check_words(path, text)
            yield from check_cited(path, text, all_paths)
    yield from check_registered(files)
    yield from check_folders(all_paths)
    yield from check_cycles(files)
    yield from check_mirror(all_paths)
