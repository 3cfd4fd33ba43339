"""Quantities mean what the official client says they mean, where the client itself follows Kubernetes."""

import math
import re
from decimal import Decimal, localcontext

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from kubernetes.utils import parse_quantity as official

from gangplan import InvalidQuantity
from gangplan.solver import format_quantity, parse_quantity

SUFFIXES = ["", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"]
LARGEST = 2**63 - 1
digits = st.text("0123456789", min_size=1, max_size=12)
numbers = (
    digits | st.builds("{}.{}".format, digits, digits) | digits.map(".{}".format) | digits.map("{}.".format)
)
exponents = st.builds(
    "{}{}{}".format, st.sampled_from("eE"), st.sampled_from(["", "+", "-"]), st.integers(0, 20)
)
texts = st.builds(
    "{}{}{}".format, st.sampled_from(["", "", "-", "+"]), numbers, st.sampled_from(SUFFIXES) | exponents
)

LOOSE = re.compile(r"[_\s]|nan|inf|[numk]i$|K$|[^\x00-\x7f]|[eE][-+]?\d+[A-Za-z]", re.IGNORECASE)
"""What the client takes although Kubernetes refuses it: Python's own notations, ``mi``, ``K``, exponent and suffix."""


def exact(text: str) -> Decimal:
    with localcontext(prec=200):
        return official(text)


@settings(max_examples=2000)
@given(text=texts, resource=st.sampled_from(["cpu", "memory", "nvidia.com/gpu"]), up=st.booleans())
def test_a_quantity_is_what_the_client_says_rounded_to_whole_units(text, resource, up):
    value = exact(text) * (1000 if resource == "cpu" else 1)
    wanted = math.ceil(value) if up else math.floor(value)
    if not -LARGEST - 1 <= wanted <= LARGEST:
        with pytest.raises(InvalidQuantity, match="out of range"):
            parse_quantity(resource, text, round_up=up)
    else:
        assert parse_quantity(resource, text, round_up=up) == wanted


@settings(max_examples=2000)
@given(text=st.text("01.+-eEkKMGTPinum_ ", max_size=8) | st.text(max_size=4))
def test_we_take_no_text_that_the_client_refuses_and_refuse_none_that_it_rightly_takes(text):
    try:
        value = exact(text)
    except (ValueError, ArithmeticError):
        value = None
    try:
        ours = parse_quantity("memory", text, round_up=True)
    except InvalidQuantity as error:
        assert value is None or LOOSE.search(text) or "out of range" in str(error), text  # noqa: PT017
        return
    assert value is not None, text
    assert ours == math.ceil(value)


@settings(max_examples=500)
@given(
    amount=st.integers(0, LARGEST),
    resource=st.sampled_from(["cpu", "memory", "pods", "hugepages-2Mi", "x.y/z"]),
)
def test_what_we_write_the_client_reads_as_the_same_amount(amount, resource):
    text = format_quantity(resource, amount)
    assert parse_quantity(resource, text, round_up=True) == amount
    assert parse_quantity(resource, text, round_up=False) == amount
    assume(resource != "cpu")
    assert exact(text) == amount
