"""Times of a schedule are read as the server reads them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gangplan.errors import InvalidInput
from gangplan.kubeflow.cron import FIELDS, read_cron


@pytest.mark.parametrize(
    "text", ["* * * * *", "*/5 0-12/2 1,15 jan-mar MON-FRI", "5 30 2 ? * 0", "0 0 29 2 *"]
)
def test_what_the_server_takes_is_taken(text):
    words = text.split()
    assert read_cron(text).split() == (words if len(words) == 6 else ["0", *words])


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("60 * * * *", ["minute"]),
        ("* 24 0 13 7", ["hour", "day", "month", "weekday"]),
        ("5-1 * * * *", ["minute"]),
        ("*/0 * * * *", ["minute"]),
        ("1,,2 * * * *", ["minute"]),
        ("-5 * * * fri-mon", ["minute", "weekday"]),
        ("²3 * * * *", ["minute"]),
    ],
)
def test_every_field_that_is_wrong_is_named(text, wrong):
    with pytest.raises(InvalidInput) as caught:
        read_cron(text)
    assert [problem.message.split()[0] for problem in caught.value.problems] == wrong


@given(st.tuples(*(st.integers(field.least - 3, field.most + 3) for field in FIELDS)))
def test_numbers_are_taken_exactly_within_their_limits(numbers):
    text = " ".join(map(str, numbers))
    sound = all(field.least <= number <= field.most for field, number in zip(FIELDS, numbers, strict=True))
    if sound:
        assert read_cron(text) == text
    else:
        with pytest.raises(InvalidInput):
            read_cron(text)
