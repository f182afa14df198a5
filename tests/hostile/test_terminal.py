"""No name takes over a terminal, and no cell of a CSV file is run as a formula."""

import csv
import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import wisecrowd as wc
from wisecrowd._checks import TEXT_ENDS_AT_NUL

NAMES = {
    "clear the screen": ("\x1b[2J", r"\x1b[2J"),
    "title of the window": ("\x1b]0;owned\x07", r"\x1b]0;owned\x07"),
    "a link": ("\x1b]8;;http://x\x1b\\y", r"\x1b]8;;http://x\x1b\y"),
    "write to the clipboard": ("\x1b]52;c;aGk=\x07", r"\x1b]52;c;aGk=\x07"),
    "device control string": ("\x1bP$q\x1b\\", r"\x1bP$q\x1b" + "\\"),
    "report the cursor": ("\x1b[6n", r"\x1b[6n"),
    "colour": ("\x1b[31mred\x1b[0m", r"\x1b[31mred\x1b[0m"),
    "other screen": ("\x1b[?1049h", r"\x1b[?1049h"),
    "reset": ("\x1bc", r"\x1bc"),
    "C1 control sequence": ("\x9b2J", r"\x9b2J"),
    "C1 operating system command": ("\x9d0;x\x9c", r"\x9d0;x\x9c"),
    "C1 next line": ("a\x85b", r"a\x85b"),
    "bell": ("\x07", r"\x07"),
    "backspace": ("good\x08\x08\x08\x08bad", r"good\x08\x08\x08\x08bad"),
    "delete": ("a\x7fb", r"a\x7fb"),
    "NUL": ("a\x00b", r"a\x00b"),
    "shift out": ("\x0eabc", r"\x0eabc"),
    "XON": ("\x11\x13", r"\x11\x13"),
    "substitute": ("\x1a", r"\x1a"),
    "newline": ("a\nerror: b", r"a\nerror: b"),
    "carriage return": ("good\rbad", r"good\rbad"),
    "both": ("a\r\nb", r"a\r\nb"),
    "tab": ("a\tb", r"a\tb"),
    "vertical tab": ("a\x0bb", r"a\x0bb"),
    "form feed": ("a\x0cb", r"a\x0cb"),
    "line separator": ("a\u2028b", r"a\u2028b"),
    "paragraph separator": ("a\u2029b", r"a\u2029b"),
    "right to left override": ("\u202etac", r"\u202etac"),
    "left to right override": ("\u202dcat", r"\u202dcat"),
    "right to left isolate": ("\u2067x\u2069", r"\u2067x\u2069"),
    "right to left mark": ("a\u200fb", r"a\u200fb"),
    "Arabic letter mark": ("a\u061cb", r"a\u061cb"),
    "zero-width space": ("ca\u200bt", r"ca\u200bt"),
    "zero-width joiner": ("ca\u200dt", r"ca\u200dt"),
    "word joiner": ("ca\u2060t", r"ca\u2060t"),
    "byte order mark": ("\ufeffcat", r"\ufeffcat"),
    "soft hyphen": ("ca\xadt", r"ca\xadt"),
    "no-break space": ("a\xa0b", r"a\xa0b"),
    "tag characters": ("cat\U000e0041", r"cat\U000e0041"),
    "Hangul filler": ("\u3164", r"\u3164"),
    "combining joiner": ("a\u034fb", r"a\u034fb"),
    "private use": ("a\ue000b", r"a\ue000b"),
    "not a character": ("a\ufffeb", r"a\ufffeb"),
    "lone surrogate": ("a\ud800b", r"a\ud800b"),
    "markup of Rich": ("[bold red]x[/]", "[bold red]x[/]"),
    "a link of Rich": ("[link=http://x]y[/link]", "[link=http://x]y[/link]"),
    "broken markup": ("[/nothing]", "[/nothing]"),
    "an emoji of Rich": (":skull:", ":skull:"),
    "a backslash": (r"C:\data", r"C:\data"),
    "letters": ("Zürich 東京 Ελλάδα", "Zürich 東京 Ελλάδα"),
    "an emoji": ("🦒", "🦒"),
    "an accent of its own": ("e\u0301", "e\u0301"),
}
"""Names, and how they are printed."""

FILES = (
    "title of the window", "C1 control sequence", "newline", "NUL", "delete",
    "right to left override", "zero-width space", "broken markup", "letters",
)  # fmt: skip
"""Those that go all the way, from a file to the terminal."""


def harmless(text):
    """All that is printed is visible, or the end of a line."""
    return all(letter.isprintable() or letter == "\n" for letter in text)


@pytest.mark.parametrize(("name", "shown"), NAMES.values(), ids=NAMES)
def test_a_name_is_printed_as_what_can_be_seen_of_it(name, shown):
    from wisecrowd._text import printable

    assert printable(name) == shown
    assert harmless(printable(name))


def test_every_character_that_cannot_be_seen_is_escaped():
    from wisecrowd._text import printable

    # The planes with letters, and a part of those without: tags, private use, the last.
    codes = (*range(0x34000), *range(0xE0000, 0xE1000), *range(0x10F000, 0x110000))
    letters = [chr(code) for code in codes if chr(code) != "|"]
    shown = printable("|".join(letters))
    assert shown.isprintable()
    for letter, one in zip(letters, shown.split("|"), strict=True):
        assert one == letter or one.startswith("\\")


@pytest.fixture
def hostile(tmp_path):
    """A function that writes a file of answers in which a name is everywhere."""

    def write(name):
        rng = np.random.default_rng(0)
        truth = rng.integers(0, 2, 12)
        classes, who = [f"{name}a", f"{name}b"], [f"{name}{a}" for a in range(4)]
        records = [
            {
                "item": f"{name}{n}",
                "annotator": who[a],
                "answer": classes[truth[n] ^ int(a == 3 and n % 2)],
            }
            for n in range(12)
            for a in range(4)
        ]
        path = tmp_path / "answers.json"
        path.write_text(json.dumps(records))
        return path

    return write


@pytest.mark.parametrize(("name", "shown"), NAMES.values(), ids=NAMES)
def test_tables_and_messages_show_a_name_and_nothing_else(name, shown, capsys):
    from wisecrowd.cli import show

    show.show_table(name, ["<" + name, name], [(name, name)])
    show.say(name, f"note: {name}")
    said = capsys.readouterr()
    assert harmless(said.out)
    assert harmless(said.err)
    assert said.out.count(shown) == 5
    assert said.err == f"{shown}\nnote: {shown}\n"


@pytest.mark.parametrize("what", FILES)
def test_no_command_does_more_than_show_a_name(what, hostile, run):
    name, shown = NAMES[what]
    result = run("aggregate", hostile(name), "-m", "majority-vote")
    if "\0" in name and TEXT_ENDS_AT_NUL:
        assert "has the character NUL" in result.stderr
        return
    assert result.exit_code == 0, result.output
    assert harmless(result.stdout), result.stdout
    assert harmless(result.stderr), result.stderr
    assert f"{shown.strip()}a" in result.stdout
    assert "Most uncertain" in result.stdout


CONTROL = "\x1b]0;owned\x07\u202e\nerror: x"


@pytest.mark.parametrize(
    "command",
    [
        ("aggregate", "--classes", "x,y"),
        ("aggregate", "--item", CONTROL),
        ("aggregate", "--task", CONTROL),
        ("aggregate", "--method", CONTROL),
        ("aggregate", "--set", CONTROL),
        ("aggregate", "--set", f"{CONTROL}=1"),
        ("aggregate", "--format", CONTROL),
        ("aggregate", "--gold", CONTROL),
        ("aggregate", "--features", CONTROL),
        ("aggregate", CONTROL),
        ("aggregate", f"--{CONTROL}"),
        ("compare", "--methods", CONTROL),
        ("compare", "--methods", "majority-vote,glad"),
        ("predict", "--annotations", CONTROL),
    ],
    ids=lambda command: " ".join(command).replace(CONTROL, "NAME"),
)
def test_no_error_does_more_than_show_a_name(command, hostile, run):
    result = run(command[0], hostile(CONTROL), *command[1:])
    assert harmless(result.stdout), result.stdout
    assert harmless(result.stderr), result.stderr
    assert "\nerror: x" not in result.output


def test_a_file_is_named_without_its_control_characters(hostile, run, tmp_path):
    path = tmp_path / "a\x1b[2J\nerror: b.json"
    hostile("x").rename(path)
    result = run(
        "aggregate", path, "-m", "majority-vote", "--out", tmp_path / "\x1b[1m"
    )
    assert result.exit_code == 0, result.output
    assert harmless(result.output)
    assert r"a\x1b[2J\nerror: b.json: long" in result.stderr
    assert not any(line.startswith("error") for line in result.stderr.splitlines())


def test_a_warning_is_printed_without_control_characters(hostile, run, tmp_path):
    run("aggregate", hostile("x"), "-q", "--out", tmp_path / "run")
    records = json.loads(hostile("x").read_text())
    renamed = [{**r, "annotator": f"\x1b[2J{r['annotator']}"} for r in records]
    (tmp_path / "new.json").write_text(json.dumps(renamed))
    result = run("predict", tmp_path / "run", "-a", tmp_path / "new.json")
    assert harmless(result.output)


def test_json_is_plain_ascii_and_keeps_the_names(hostile, run):
    name = "\x1b\x7f\x9b\u202eé"
    result = run("aggregate", hostile(name), "-m", "majority-vote", "--json", "-q")
    assert result.stdout.strip().isprintable()
    assert result.stdout.isascii()
    assert json.loads(result.stdout)["classes"] == [f"{name}a", f"{name}b"]


def test_a_very_long_name_does_not_fill_the_screen(hostile, run):
    result = run("aggregate", hostile("x" * 100_000), "-m", "majority-vote")
    assert result.exit_code == 0
    assert len(result.output) < 20_000


def test_a_process_of_its_own_prints_no_escape_of_a_name(hostile):
    command = [sys.executable, "-m", "wisecrowd", "aggregate", str(hostile(CONTROL))]
    done = subprocess.run(
        [*command, "-m", "majority-vote"], capture_output=True, check=True, timeout=60
    )
    for bad in (b"\x1b]", b"\x07", "\u202e".encode()):
        assert bad not in done.stdout + done.stderr


# -- spreadsheets -------------------------------------------------------------------

CELLS = {
    "=1+2": "'=1+2",
    "=cmd|' /C calc'!A0": "'=cmd|' /C calc'!A0",
    '=HYPERLINK("http://x","y")': '\'=HYPERLINK("http://x","y")',
    "+A1": "'+A1",
    "-A1": "'-A1",
    "-1+2": "'-1+2",
    "@SUM(A1)": "'@SUM(A1)",
    "\t=1": "'\t=1",
    "\r=1": "'\r=1",
    "\n=1": "'\n=1",
    "＝1+2": "'＝1+2",
    "＋A1": "'＋A1",
    "－A1": "'－A1",
    "＠A1": "'＠A1",
    "'=1": "''=1",
    "''=1": "'''=1",
    "-5": "-5",
    "+5.25": "+5.25",
    "-1e-3": "-1e-3",
    "-": "-",
    "@": "@",
    "'": "'",
    "'tis": "'tis",
    "'-5": "'-5",
    "a=b": "a=b",
    "": "",
    " =1": " =1",
    "--": "'--",
    "-inf": "'-inf",
    "@volunteer": "'@volunteer",
}
"""Cells, and how they are written to a CSV file."""


@pytest.mark.parametrize(("cell", "written"), CELLS.items(), ids=map(repr, CELLS))
def test_a_cell_that_would_be_run_is_marked_and_comes_back(cell, written):
    from wisecrowd._text import marked, unmarked

    assert marked(cell) == written
    assert unmarked(written) == cell


def test_a_run_folder_has_no_formula_in_its_csv_and_raw_names_in_parquet(run, tmp_path):
    names = ["=1+2", "+A1", "@x", "-A1"]
    long = pd.DataFrame(
        [(n, a, names[len(n) % 2]) for n in names for a in names],
        columns=["item", "annotator", "answer"],
    )
    long.to_parquet(tmp_path / "answers.parquet", index=False)
    out = tmp_path / "run"
    result = run("aggregate", tmp_path / "answers.parquet", "--out", out)
    assert result.exit_code == 0, result.output
    for file in ("labels.csv", "annotators.csv"):
        with (out / file).open(newline="") as text:
            cells = [cell for row in csv.reader(text) for cell in row]
        for cell in cells:
            is_number = cell.lstrip("-").replace(".", "").replace("e-", "").isdigit()
            assert cell[:1] not in tuple("=+-@\t\r") or is_number, cell
    assert pd.read_csv(out / "labels.csv")["item"].tolist() == [
        f"'{name}" for name in sorted(names)
    ]
    assert pd.read_parquet(out / "labels.parquet")["item"].tolist() == sorted(names)
    assert wc.load(out).annotators_.tolist() == sorted(names)


def test_numbers_stay_numbers():
    from wisecrowd._text import for_spreadsheet

    table = pd.DataFrame({"item": [-3, 2], "margin": [-0.5, 0.25], "ok": [True, False]})
    assert for_spreadsheet(table).equals(table)


def test_headers_are_marked_and_the_table_of_the_caller_stays():
    from wisecrowd._text import for_spreadsheet

    table = pd.DataFrame({"=a": ["=b", None]})
    assert for_spreadsheet(table).columns.tolist() == ["'=a"]
    assert for_spreadsheet(table).iloc[0, 0] == "'=b"
    assert table.columns.tolist() == ["=a"]
    assert table.iloc[0, 0] == "=b"
