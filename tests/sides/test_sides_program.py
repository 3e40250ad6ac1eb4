import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from sides import case_code, privacy, program
from sides.case_code import CaseCodeError
from sides.program import Program, words_of
from sides.steps import apply, load_step

PAGE = (Path(__file__).parents[2] / "docs/protocol.md").read_text()
COMPILER = shutil.which("cc") or shutil.which("gcc")
PICTURE = np.arange(15, dtype=np.uint8).reshape(3, 5)


def block(language):
    """A code block of docs/protocol.md: what stands there is what is tested."""
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)[0]


@pytest.fixture
def code(tmp_path, monkeypatch):
    monkeypatch.setattr(case_code, "FOLDERS", [])
    monkeypatch.setattr(sys, "path", list(sys.path))
    case_code.look_in([str(tmp_path)])
    return tmp_path


def script(code, body, name="it"):
    """A program of Python that reads with `take()` and answers with `give(array)`."""
    head = (
        f"#!{sys.executable}\n"
        "import io, sys, time, os, numpy as np\n"
        "more = lambda: sys.stdin.buffer.peek(1)\n"
        "def take():\n"
        "    np.lib.format.read_magic(sys.stdin.buffer)\n"
        "    shape, _, dtype = np.lib.format.read_array_header_1_0(sys.stdin.buffer)\n"
        "    count = int(np.prod(shape))\n"
        "    numbers = sys.stdin.buffer.read(count * dtype.itemsize)\n"
        "    return np.frombuffer(numbers, dtype).reshape(shape)\n"
        "def give(array):\n"
        "    answer = io.BytesIO()\n"
        "    np.save(answer, array)\n"
        "    sys.stdout.buffer.write(answer.getvalue())\n"
        "    sys.stdout.buffer.flush()\n"
    )
    path = code / name
    path.write_text(head + body)
    path.chmod(0o755)
    return path


def step(*words, **args):
    return load_step("candidate", 0, {"name": "decode", "command": list(words), "args": args})


@pytest.fixture(scope="session")
def compiled(tmp_path_factory):
    if COMPILER is None:
        pytest.skip("no C compiler here")
    folder = tmp_path_factory.mktemp("c")
    (folder / "decode.c").write_text(block("c"))
    words = [COMPILER, "-O2", "-Wall", "-Wextra", "-Werror", "-o", "decode", "decode.c"]
    subprocess.run(words, cwd=folder, check=True)
    return folder / "decode"


def test_the_pages_c_program_is_a_step(code, compiled):
    shutil.copy(compiled, code / "decode")
    one = step("decode")
    try:
        for rows in (1, 3, 700):
            picture = np.random.default_rng(rows).integers(0, 256, (rows, 5)).astype(np.uint8)
            made = apply(one, picture, 0, "a")
            np.testing.assert_array_equal(made, picture.T)
            assert made.flags.writeable
    finally:
        one.close()


def test_the_pages_c_program_says_what_it_cannot_take(code, compiled):
    shutil.copy(compiled, code / "decode")
    what = "candidate.steps[0] 'decode' (decode)"
    with Program(["decode"], what) as it, pytest.raises(CaseCodeError) as caught:
        it.ask(PICTURE.astype(np.float32), " on sample 17 (a-17)")
    first = f"{what} failed on sample 17 (a-17): ended with status 1 without an answer."
    assert str(caught.value).splitlines() == [first, "  decode: expected bytes"]


def test_the_pages_way_to_try_it_by_hand_works(code, compiled):
    shutil.copy(compiled, code / "decode")
    words = block("sh").replace("python3", sys.executable)
    done = subprocess.run(["sh", "-c", words], cwd=code, capture_output=True, text=True, check=True)
    assert done.stdout == "(5, 2)\n(5, 3)\n(5, 4)\n"


def test_the_pages_python_program_is_a_step(code):
    body = block("python").replace("#!/usr/bin/env python3", f"#!{sys.executable}")
    (code / "turn").write_text(body)
    (code / "turn").chmod(0o755)
    with Program(["turn"], "it") as it:
        for value in (PICTURE, PICTURE.astype(">f8"), np.asfortranarray(PICTURE)):
            made = it.ask(value)
            np.testing.assert_array_equal(made, value.T)
            assert made.dtype.isnative


@pytest.mark.parametrize("dtype", ["b1", "u1", "i1", "u2", "i4", "u8", "f2", "f4", "f8"])
@pytest.mark.parametrize("shape", [(), (0,), (7,), (2, 0, 3), (2, 3, 4)])
def test_every_numeric_array_goes_there_and_back(code, dtype, shape):
    script(code, "while more():\n    give(take())\n")
    value = np.ones(shape, dtype)
    with Program(["it"], "it") as it:
        made = it.ask(value)
    assert (made.shape, made.dtype) == (value.shape, value.dtype)
    np.testing.assert_array_equal(made, value)


def test_a_files_bytes_arrive_as_a_vector_and_args_follow_the_command(code):
    script(code, "give(np.frombuffer(' '.join(sys.argv[1:]).encode(), np.uint8)); give(take())\n")
    one = step("it", "--quick", gain=2, mode="fast", size=[4, 5])
    assert one.program is not None
    told = one.program.ask(b"ab")
    assert bytes(told) == b"--quick --gain=2 --mode=fast --size=[4, 5]"
    one.close()
    assert words_of(["x"], {"a": True}) == ["x", "--a=true"]


def test_arrays_beyond_a_pipes_size_block_neither_side(code):
    # It answers while it still reads, and talks on stderr all the time.
    body = (
        "while more():\n"
        "    array = take()\n"
        "    for _ in range(200): sys.stderr.write('x' * 1000 + '\\n')\n"
        "    give(array)\n"
    )
    script(code, body)
    big = np.random.default_rng(0).random((1500, 1500))
    with Program(["it"], "it", answer_s=30) as it:
        for _ in range(3):
            np.testing.assert_array_equal(it.ask(big), big)


@pytest.mark.parametrize(
    ("body", "says"),
    [
        pytest.param("take(); sys.exit(3)", "ended with status 3 without an answer", id="exits"),
        pytest.param(
            "take(); os.kill(os.getpid(), 9)", "was ended by SIGKILL without", id="killed"
        ),
        pytest.param(
            "print('loading weights', flush=True); time.sleep(9)",
            "wrote 'loading weights",
            id="talks on stdout",
        ),
        pytest.param(
            "take(); os.write(1, b'\\x93NUMPY\\x01\\x00\\x10\\x00' + b'{' * 16); time.sleep(9)",
            "wrote a header that cannot be read: '{{{{",
            id="a header that is none",
        ),
        pytest.param(
            "take(); os.write(1, b'\\x93NUMPY\\x07\\x00'); time.sleep(9)",
            "wrote an array of format 7; expected 1.0",
            id="another version",
        ),
        pytest.param(
            "take(); os.write(1, b'\\x93NUM')", "before its answer's header was whole", id="half"
        ),
        pytest.param(
            "import io; b = io.BytesIO(); np.save(b, take()); os.write(1, b.getvalue()[:-5])",
            "after 10 of the 15 bytes that its answer's header promised",
            id="closes early",
        ),
        pytest.param(
            "give(np.array(['a']))", "answered <U1 [1]; expected numbers", id="an array of text"
        ),
        pytest.param("take(); time.sleep(30)", "gave no answer within 0.7 s", id="hangs"),
        pytest.param(
            "take(); os.close(1); time.sleep(30)", "closed its output without an answer", id="shuts"
        ),
    ],
)
def test_a_program_that_does_not_answer_is_told_with_its_last_words(code, body, says, monkeypatch):
    monkeypatch.setattr(program, "END_S", 0.3)
    script(code, "for i in range(40): print('word', i, file=sys.stderr, flush=True)\n" + body)
    began = time.monotonic()
    # Only what hangs needs the deadline: an interpreter's start is slow where cores are few.
    with Program(["it"], "a step", answer_s=0.7 if "0.7 s" in says else 20) as it:
        with pytest.raises(CaseCodeError) as caught:
            it.ask(PICTURE, " on sample 4")
        pid = it._process.pid
    assert time.monotonic() - began < 15
    first, *last = str(caught.value).splitlines()
    assert first.startswith("a step failed on sample 4: ")
    assert says in first
    assert len(last) <= program.STDERR_LINES
    if "0.7 s" not in says:
        assert last[-1] == "  word 39"
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_a_second_answer_to_one_array_is_refused(code):
    script(code, "while more():\n    array = take(); give(array); give(array)\n")
    with Program(["it"], "it") as it:
        it.ask(PICTURE)
        time.sleep(0.3)
        with pytest.raises(CaseCodeError, match=r"NUMPY.* behind its last answer"):
            it.ask(PICTURE + 1)
    script(code, "give(take()); more(); give(np.zeros(1))\n", "late")
    with Program(["late"], "late") as it:
        it.ask(PICTURE)
        with pytest.raises(CaseCodeError, match="behind its last answer"):
            it.finish()


def test_a_private_case_keeps_a_programs_words(code, monkeypatch):
    monkeypatch.setattr(privacy, "_private", [True])
    script(code, "take(); print('patient 7', file=sys.stderr); os.write(1, b'patient 7')")
    with Program(["it"], "it") as it, pytest.raises(CaseCodeError) as caught:
        it.ask(PICTURE)
    assert "patient" not in str(caught.value)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        pytest.param(["nowhere"], "no program nowhere. Looked in: ", id="not there"),
        pytest.param(["plain"], "plain is not executable. Mend it with `chmod +x", id="no bit"),
        pytest.param(["bare"], "bare could not be started: Exec format error", id="no shebang"),
        pytest.param(["lost"], "A script begins with `#!` and an interpreter", id="no interpreter"),
    ],
)
def test_a_program_that_cannot_be_started_is_named(code, words, says):
    (code / "plain").write_text("#!/bin/sh\n")
    (code / "bare").write_bytes(b"\x01\x02\x03")
    (code / "lost").write_text("#!/nowhere/python\n")
    for name in ("bare", "lost"):
        (code / name).chmod(0o755)
    with pytest.raises(CaseCodeError) as caught:
        Program(words, "candidate.steps[0]")
    assert str(caught.value).startswith("candidate.steps[0]: ")
    assert says in str(caught.value)


def test_a_word_that_is_a_file_of_the_code_is_given_in_full(code):
    (code / "it.py").write_text("import sys\n")
    assert program.find(["python3", "it.py", "-v"], "it")[1:] == [str(code / "it.py"), "-v"]


def test_a_dead_program_is_told_at_once_where_its_child_holds_the_pipes(code):
    script(code, "import subprocess\nsubprocess.Popen(['sleep', '9'])\ntake()\nsys.exit(3)\n")
    began = time.monotonic()
    with (
        Program(["it"], "it") as asked,
        pytest.raises(CaseCodeError, match="ended with status 3 without an answer"),
    ):
        asked.ask(PICTURE)
    assert time.monotonic() - began < 15


def test_a_header_that_promises_too_much_is_refused(code):
    text = "{'descr': '<f8', 'fortran_order': False, 'shape': (4611686018427387904, 4), }\\n"
    wide = "sys.stdout.buffer.write(b'\\x93NUMPY\\x01\\x00' + bytes([len(b), 0]) + b)\n"
    script(code, f'b = b"{text}"\n{wide}sys.stdout.buffer.flush()\ntake()\n')
    with Program(["it"], "it") as asked, pytest.raises(CaseCodeError, match="too large"):
        asked.ask(PICTURE)
