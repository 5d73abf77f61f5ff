"""Options that the comparisons of training steps share."""
import argparse
import os

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def parser_of(doc, pairs=10, steps=3):
    """A parser with the options of every comparison; `pairs`, `steps`: their defaults."""
    parser = argparse.ArgumentParser(description=doc,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=pairs, help="times that the sides alternate")
    parser.add_argument("--steps", type=int, default=steps,
                        help="training steps of one measurement")
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("--python", default=os.path.join(ROOT, ".deps/venv/bin/python"),
                        help="with PyTorch")
    parser.add_argument("--json", action="store_true")
    return parser
