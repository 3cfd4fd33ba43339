"""Placement cases: read, solved by :func:`gangplan.solve`, and judged by code that knows nothing of the solver.

``python -m conformance CASES`` (``make conformance``) does it for a folder. ``docs/conformance.md`` has the format.

- ``cases``: case files to cases;
- ``document``: a case to a snapshot and options, by renaming only;
- ``answer``: plans back to an answer in the format's words;
- ``judge``: a case and an answer to what is wrong with it, one file for each kind of rule and fact;
- ``check_case``: a second judge, written by others and kept as it came.
"""
