#!/usr/bin/env python3
"""A terminal's picture as SVG: text with SGR colours on stdin, SVG on stdout.

  tmux capture-pane -e -p -t osora | docs/images/terminal_svg.py "osora submit" > submit.svg
"""
import html
import re
import sys

COLUMN, LINE, MARGIN, BAR = 8.43, 18, 14, 30
COLOURS = {31: "#e06c75", 32: "#98c379", 33: "#e5c07b", 34: "#61afef", 35: "#c678dd", 36: "#56b6c2",
           90: "#7f848e"}


def spans(line):
    """(text, style) pieces of a line; SGR sequences become styles, others vanish."""
    style = {}
    for piece in re.split(r"(\x1b\[[0-9;]*m)", line):
        if not piece.startswith("\x1b["):
            text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", piece)
            if text:
                yield text, dict(style)
            continue
        for code in (int(c or 0) for c in piece[2:-1].split(";")):
            if code == 0:
                style = {}
            elif code == 1:
                style["font-weight"] = "bold"
            elif code == 2:
                style["fill"] = "#7f848e"
            elif code in COLOURS:
                style["fill"] = COLOURS[code]


def main():
    title = sys.argv[1] if len(sys.argv) > 1 else "osora"
    lines = sys.stdin.read().rstrip().split("\n")
    width = 2 * MARGIN + 80 * COLUMN
    height = BAR + len(lines) * LINE + MARGIN
    print(f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height}" '
          f'viewBox="0 0 {width:.0f} {height}" font-family="DejaVu Sans Mono,Menlo,Consolas,'
          f'monospace" font-size="14">')
    print('<rect width="100%" height="100%" rx="8" fill="#282c34"/>')
    print(f'<text x="{width / 2:.0f}" y="20" fill="#7f848e" text-anchor="middle">'
          f'{html.escape(title)}</text>')
    for number, line in enumerate(lines):
        pieces = "".join(
            "<tspan" + "".join(f' {key}="{value}"' for key, value in style.items()) + ">"
            + html.escape(text) + "</tspan>" for text, style in spans(line))
        columns = len(re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", line).rstrip())
        length = f' textLength="{columns * COLUMN:.1f}"' if columns > 1 else ""
        print(f'<text x="{MARGIN}" y="{BAR + (number + 1) * LINE - 5}" fill="#d7dae0" '
              f'xml:space="preserve"{length}>{pieces}</text>')
    print("</svg>")


if __name__ == "__main__":
    main()
