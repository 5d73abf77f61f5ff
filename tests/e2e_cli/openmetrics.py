"""A strict reader of OpenMetrics text, written from the ABNF and the rules of the specification
(1.0): names, types, units, suffixes, escapes, order. Raises ValueError with the line."""
import re

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = r"[a-zA-Z_][a-zA-Z0-9_]*"
TEXT = r'(?:[^"\\\n]|\\["\\n])*'
NUMBER = r"[+-]?(?:\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?|Inf|NaN)"
SAMPLE = re.compile(rf'({NAME})(?:\{{({LABEL}="{TEXT}"(?:,{LABEL}="{TEXT}")*)?\}})? ({NUMBER})')
PAIR = re.compile(rf'({LABEL})="({TEXT})"')
META = re.compile(rf"# (TYPE|UNIT|HELP) ({NAME}) (.*)")
TYPES = {"gauge", "counter", "stateset", "info", "summary"}
SUFFIXES = {"counter": ["_total"], "info": ["_info"], "summary": ["", "_count", "_sum"],
            "gauge": [""], "stateset": [""]}


def unescaped(text):
    return re.sub(r'\\(["\\n])', lambda found: {"n": "\n"}.get(found[1], found[1]), text)


class Family:
    def __init__(self, name):
        self.name, self.type, self.unit, self.help, self.samples = name, None, "", None, []


def check(family, line):
    def need(truth, why):
        if not truth:
            raise ValueError(f"{family.name}: {why}: {line}")
    need(family.type in TYPES, "no type")
    need(not family.unit or family.name.endswith("_" + family.unit), "name without its unit")
    need(family.samples, "no samples")
    need(len(set(family.samples)) == len(family.samples), "a sample twice")
    for name, labels, value in family.samples:
        keys = dict(labels)
        need(len(keys) == len(labels), "a label twice")
        if family.type == "stateset":
            need(family.name in keys and value in (0, 1), "no state")
        if family.type == "info":
            need(value == 1, "not 1")
        if family.type == "counter":
            need(value >= 0, "below 0")
        if family.type == "summary":
            quantile = keys.get("quantile")
            need((quantile is not None) == (name == family.name), "quantile and suffix")
            need(quantile is None or 0 <= float(quantile) <= 1, "quantile")
            need(not name.endswith("_count") or value == int(value) >= 0, "count")
            need(quantile or value >= 0, "below 0")
    return family


def parse(text):
    """{family: Family}, samples as (name, ((label, value), ...), number)."""
    families, current = {}, None
    if not text.endswith("\n# EOF\n"):
        raise ValueError("no # EOF at the end")
    for line in text.removesuffix("# EOF\n").split("\n")[:-1]:
        if meta := META.fullmatch(line):
            kind, name, rest = meta.groups()
            if current is None or current.name != name:
                if name in families:
                    raise ValueError(f"twice: {line}")
                if current:
                    check(current, line)
                current = families[name] = Family(name)
            if current.samples or getattr(current, kind.lower()):
                raise ValueError(f"after samples, or twice: {line}")
            if kind == "HELP" and not re.fullmatch(TEXT, rest):
                raise ValueError(f"bad escape: {line}")
            setattr(current, kind.lower(), rest)
        elif sample := SAMPLE.fullmatch(line):
            name, labels, value = sample.groups()
            if current is None or name not in [current.name + suffix
                                               for suffix in SUFFIXES[current.type]]:
                raise ValueError(f"not of its family: {line}")
            pairs = tuple((key, unescaped(text)) for key, text in PAIR.findall(labels or ""))
            current.samples.append((name, pairs, float(value)))
        else:
            raise ValueError(f"neither metadata nor a sample: {line!r}")
    if current:
        check(current, "end")
    return families


def value(families, name, /, **wanted):
    """The only sample of that name with these labels; None when there is none."""
    found = [number for family in families.values() for each, labels, number in family.samples
             if each == name and wanted.items() <= dict(labels).items()]
    assert len(found) <= 1, (name, wanted, found)
    return found[0] if found else None
