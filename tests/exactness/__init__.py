"""Is the answer for one gang exact? Random gangs of several roles, judged by a constraint model.

``make exactness`` prints the table; ``test_agreement.py`` asserts it.

- ``instances``: hosts partly in use and a gang whose last role may grow;
- ``model``: the most replicas of that role that fit, by OR-Tools CP-SAT;
- ``best_fit``: what a good heuristic makes of the same;
- ``agreement``: all three side by side.
"""
