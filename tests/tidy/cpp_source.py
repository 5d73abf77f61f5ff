"""Reads C++ well enough for the tidy rules: comments and literals blanked (same length, same
lines), functions with their headers, `co_await` expressions. Relies on clang-format's layout, not
on a compiler; driven by rules.py."""
import re
from dataclasses import dataclass

TOKEN = re.compile(
    r"""//(?:\\\n|[^\n])*
      | /\*.*?\*/
      | R"(?P<tag>[^()\\\s]{0,16})\(.*?\)(?P=tag)"
      | "(?:\\.|[^"\\\n])*"
      | (?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'""", re.S | re.X)
DELIMITER = re.compile(r"[{};]")
NOT_A_NAME = {"noexcept", "decltype", "alignas", "explicit", "requires", "__attribute__",
              "operator"}
DIRECTIVE = re.compile(r"^[ \t]*#(?:\\\n|[^\n])*", re.M)
TYPE_HEAD = re.compile(r"\s*(?:\w+:\s*)?(?:typedef\s+)?(?:class|struct|union|enum)\b")


@dataclass
class Function:
    header: str  # from the end of the previous declaration to the opening brace or semicolon
    line: int  # of the name's line, 1-based
    lines: int  # from there to the closing brace; 0 for a declaration


def blank(text):
    """Every character but newlines turned into a space."""
    return re.sub(r"[^\n]", " ", text)


class Source:
    def __init__(self, text):
        self.text = text
        self.comments = []  # (line, text)
        code, bare, last = [], [], 0
        for match in TOKEN.finditer(text):
            token = match.group()
            code.append(text[last:match.start()])
            bare.append(text[last:match.start()])
            last = match.end()
            if token.startswith(("//", "/*")):
                self.comments.append((text.count("\n", 0, match.start()) + 1, token))
                code.append(blank(token))
                bare.append(blank(token))
            else:
                code.append(token[0] + blank(token[1:-1]) + token[-1])
                bare.append(token)
        self.code = "".join(code) + text[last:]  # no comments, literals emptied
        self.bare = "".join(bare) + text[last:]  # no comments
        self.no_directives = DIRECTIVE.sub(lambda match: blank(match.group()), self.code)

    def line_of(self, position):
        return self.text.count("\n", 0, position) + 1

    def includes(self):
        """[(line, path)] of #include directives, quotes or brackets."""
        found = re.finditer(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^>"\n]+)[>"]', self.bare, re.M)
        return [(self.line_of(m.start()), m[1]) for m in found]

    def functions(self):
        """Functions and declarations at namespace or class scope."""
        code, found, stack, start = self.no_directives, [], [], 0
        for match in DELIMITER.finditer(code):
            position, char = match.start(), match.group()
            open_kinds = "function" not in stack and "init" not in stack
            if char == "{":
                kind = brace_kind(code, start, position) if open_kinds else "init"
                if kind == "function":
                    self._begin = (start, position)
                stack.append(kind)
                if kind != "init":
                    start = position + 1
            elif char == "}":
                kind = stack.pop() if stack else "scope"
                if kind == "function":
                    found.append(self._function(code, *self._begin, position))
                if kind != "init":
                    start = position + 1
            elif open_kinds:
                if is_declaration(without_macros(code[start:position])):
                    found.append(self._function(code, start, position, None))
                start = position + 1
        return found

    def _function(self, code, start, body, end):
        header = without_macros(code[start:body])
        header = re.sub(r"^(?:\s|public:|private:|protected:)+", "", header)
        line = self.line_of(body - len(header))
        return Function(header, line, self.line_of(end) - line + 1 if end is not None else 0)


def without_macros(header):
    """A header without the MACRO(...) lines before it; TEST(...) stays, it is all there is."""
    while match := re.match(r"\s*[A-Z][A-Z0-9_]+\s*(?=\()", header):
        rest = header[closing(header, match.end()) + 1:]
        if not rest.strip():
            return header
        header = rest
    return header


def brace_kind(code, start, position):
    """What an opening brace at namespace or class scope begins."""
    header = without_macros(code[start:position])
    trimmed = header.rstrip()
    if not trimmed or re.search(r"\b(?:namespace|extern)\b", header):
        return "scope"
    touching = trimmed == header and re.search(r"[\w>\])]$", header)
    if touching or trimmed.endswith(("=", ",", "(", "{")):
        return "init"
    plain = re.sub(r"\btemplate\s*<[^{;]*?>\s*(?=\b(?:class|struct|union)\b)", "", header)
    if TYPE_HEAD.match(plain) and not re.search(r"\)\s*(?:const|noexcept|override)?\s*$", plain):
        return "scope"
    return "function" if "(" in header else "scope"


def is_declaration(header):
    if "(" not in header or re.match(r"\s*(?:using|typedef|static_assert|friend|return)\b", header):
        return False
    name = re.search(r"(\w+)\s*\(", header)
    return bool(name) and not name[1].isupper()


def split_arguments(text):
    """Splits at commas outside brackets of any kind."""
    parts, depth, last = [], 0, 0
    for index, char in enumerate(text):
        if char in "([{<":
            depth += 1
        elif char in ")]}" or (char == ">" and text[index - 1:index] != "-"):
            depth -= 1
        elif char == "," and depth == 0:
            parts.append(text[last:index])
            last = index + 1
    parts.append(text[last:])
    return [part.strip() for part in parts if part.strip()]


def closing(text, position):
    """Index of the bracket that closes the one at position; the end of text when none does."""
    depth = 0
    for index in range(position, len(text)):
        if text[index] in "([{":
            depth += 1
        elif text[index] in ")]}":
            depth -= 1
            if depth == 0:
                return index
    return len(text)


def parameters(header):
    """The parameters in a function's header."""
    position = header.find("(")
    while position >= 0:
        end = closing(header, position)
        word = re.search(r"([\w]+)\s*$", header[:position])
        if word and word[1] not in NOT_A_NAME or not word and "operator" in header[:position]:
            return [p for p in split_arguments(header[position + 1:end]) if p != "void"]
        position = header.find("(", end)
    return []


def await_expressions(code):
    """[(position, expression)]: what follows each co_await, up to the end of its statement."""
    found = []
    for match in re.finditer(r"\bco_await\b", code):
        depth, index = 0, match.end()
        while index < len(code):
            char = code[index]
            if char in "([{":
                depth += 1
            elif char in ")]}":
                depth -= 1
            if depth < 0 or (char in ";" and depth == 0):
                break
            index += 1
        found.append((match.start(), code[match.end():index]))
    return found


def await_fault(expression):
    """Why g++ 12 may free a temporary of this co_await expression twice, or None."""
    index = 0
    while index < len(expression):
        char = expression[index]
        before = expression[:index].rstrip()[-1:]
        if char == "[" and before in ("", "(", ",", "="):
            end = closing(expression, index)
            if expression[index + 1:end].strip():
                return "a capturing lambda in a co_await expression: name it first"
            brace = expression.find("{", end)
            index = closing(expression, brace) if brace >= 0 else end
        elif char == "{":
            return "a {...} temporary in a co_await expression: name it first"
        index += 1
    return None
