"""Last words: what says something, from the noisiest of logs."""

from gangplan.local.log import LAST_LINES, last_lines, read_lines


def test_noise_of_grpc_and_tensorflow_is_left_out(tmp_path):
    log = tmp_path / "log"
    log.write_text(
        "step 20/900 loss 1.2\n"
        "I0000 00:00:1795987341.454409    4242 port.cc:153] oneDNN custom operations are on.\n"
        "E0000 00:00:1795987341.454409    4242 grpc.cc:1] failed\n"
        "2026-01-01 10:00:00.123456: E external/local_xla/xla/x.cc:1] noise\n"
        "WARNING: All log messages before absl::InitializeLog() is called are written to STDERR\n"
        'Additional GRPC error information from remote target /job:ps\n:{"created":"@17"}\n'
        "\n"
        "ValueError: the point\n"
    )
    assert last_lines(log) == ("step 20/900 loss 1.2", "ValueError: the point")


def test_noise_is_better_than_nothing(tmp_path):
    log = tmp_path / "log"
    log.write_text("E0000 00:00:17 1 x.cc:1] all there is\n\n")
    assert last_lines(log) == ("E0000 00:00:17 1 x.cc:1] all there is",)


def test_only_the_last_lines_are_kept_and_long_ones_are_cut(tmp_path):
    log = tmp_path / "log"
    log.write_bytes(b"x" * 200_000 + b"\n" + b"".join(b"line %d\n" % i for i in range(100)) + b"\xff" * 1000)
    lines = last_lines(log)
    assert len(lines) == LAST_LINES
    assert lines[-2] == "line 99"
    assert len(lines[-1]) == 300


def test_a_log_that_is_not_there_says_nothing(tmp_path):
    assert last_lines(tmp_path / "none") == ()
    assert list(read_lines(tmp_path / "none", lambda: False)) == []


def test_lines_are_whole_however_they_are_written(tmp_path):
    """A line may come in pieces, in the middle of a character too."""
    log = tmp_path / "log"
    pieces = [b"on", "e\nzw\u00f6lf".encode()[:6], "e\nzw\u00f6lf".encode()[6:], b"\n", b"last"]

    def more():
        if pieces:
            with log.open("ab") as file:
                file.write(pieces.pop(0))
            return True
        return False

    assert list(read_lines(log, more)) == ["one", "zw\u00f6lf", "last"]
