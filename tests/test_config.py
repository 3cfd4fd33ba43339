"""Settings: a flag wins over the environment, that over the file, that over the default; what is wrong is named."""

import re
from pathlib import Path

import pytest

from gangplan.config import Settings, settings
from gangplan.errors import ConfigError


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_defaults_are_in_the_working_folder(folder):
    chosen = settings(environment={})
    assert chosen == Settings(home=folder / ".gangplan")
    assert {chosen.store.parent, chosen.jobs.parent, chosen.volume.parent} == {chosen.home}


def test_each_origin_wins_over_those_after_it(folder):
    environment, flags = {"GANGPLAN_POLL_S": "3"}, {"poll_s": 4}
    (folder / "gangplan.toml").write_text("poll_s = 2\n")
    assert settings(environment={}).poll_s == 2.0
    assert settings(environment=environment).poll_s == 3.0
    assert settings(environment=environment, **flags).poll_s == 4.0
    assert settings(environment=environment, poll_s=None).poll_s == 3.0, "None is a flag that was not given"


def test_the_file_may_be_elsewhere(folder):
    (folder / "other.toml").write_text('home = "here"\nforkserver = false\nrecord_ttl_s = 60\n')
    chosen = settings(environment={"GANGPLAN_CONFIG": "other.toml"})
    assert chosen == Settings(home=folder / "here", forkserver=False, record_ttl_s=60.0)


def test_the_environment_of_the_process_counts(folder, monkeypatch):
    monkeypatch.setenv("GANGPLAN_HOME", str(folder / "x"))
    assert settings().home == folder / "x"


def test_a_home_is_made_absolute_and_a_tilde_is_the_users(folder, monkeypatch):
    monkeypatch.setenv("HOME", str(folder / "me"))
    assert settings(environment={"GANGPLAN_HOME": "~/x"}).home == folder / "me" / "x"
    assert settings(environment={}, home=Path("y")).home == folder / "y"


@pytest.mark.parametrize("word", ["true", "1", "YES", "false", "0", "no"])
def test_yes_and_no_are_read(word, folder):
    expected = word.lower() in {"true", "1", "yes"}
    assert settings(environment={"GANGPLAN_FORKSERVER": word}).forkserver is expected


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("POLL_S", "soon"),
        ("POLL_S", ""),
        ("POLL_S", "0"),
        ("POLL_S", "-1"),
        ("POLL_S", "nan"),
        ("RECORD_TTL_S", "inf"),
        ("FORKSERVER", "maybe"),
        ("CLUSTER", "remote"),
        ("HOME", ""),
        ("HOME", "~nobody-of-this-name/x"),
        ("HOME", "a\0b"),
    ],
)
def test_a_wrong_value_is_named_with_its_origin(name, value, folder):
    with pytest.raises(ConfigError, match=f"GANGPLAN_{name}: "):
        settings(environment={f"GANGPLAN_{name}": value})


@pytest.mark.parametrize(
    "text",
    [
        "poll_s = true",
        'poll_s = "a"',
        "poll_s = [1]",
        "home = 3",
        "home = [1]",
        "home = {a = 1}",
        "forkserver = 2",
        "forkserver = []",
    ],
)
def test_a_wrong_type_in_the_file_is_named_with_its_origin(text, folder):
    (folder / "gangplan.toml").write_text(text)
    with pytest.raises(ConfigError, match=r"gangplan.toml: \w+: "):
        settings(environment={})


def test_all_problems_are_told_at_once(folder):
    (folder / "gangplan.toml").write_text("pol_s = 1\npoll_s = -1\n")
    with pytest.raises(ConfigError) as caught:
        settings(environment={"GANGPLAN_RECORD_TTL_S": "x"}, reservation_ttl_s="y")
    text = str(caught.value)
    assert "unknown setting pol_s; known are home," in text
    for origin in ("gangplan.toml: poll_s", "GANGPLAN_RECORD_TTL_S", "--reservation-ttl-s"):
        assert origin in text


@pytest.mark.parametrize("content", [b"poll_s = ", b"\xff\xfe", b"poll_s = 1\npoll_s = 2"])
def test_a_file_that_is_no_toml_is_an_error_that_names_it(content, folder):
    (folder / "gangplan.toml").write_bytes(content)
    with pytest.raises(ConfigError, match=r"gangplan\.toml"):
        settings(environment={})


@pytest.mark.parametrize("name", ["no-such-file.toml", "..", "/dev/null/x"])
def test_a_file_that_was_named_must_be_there(name, folder):
    with pytest.raises(ConfigError, match=re.escape(name)):
        settings(environment={"GANGPLAN_CONFIG": name})
