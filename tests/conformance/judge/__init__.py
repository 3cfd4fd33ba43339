"""The judge: what is wrong with an answer to a case, written from the format's text alone.

Rules come first (an answer that breaks one is no placement at all), then the facts that the case states. Nothing of
the solver is used here, not even its reading of quantities.
"""

from conformance.judge.verdict import Verdict, judge

__all__ = ["Verdict", "judge"]
