"""Measuring whole decisions: workloads as neutral files, a door to the solver, and the figures of a run.

A workload file is one JSON object of integers and names, so that any scheduler can read it:

- ``workload``, ``seed``, ``levels`` (outermost first, the last one is ``host``: the node itself);
- ``nodes``: ``name``, ``cpu`` (millicores), ``memory`` (MiB), ``gpu``, ``pods``, and the ``block`` and ``rack`` it is in;
- ``queues``: ``name``;
- ``gangs``: ``name``, ``queue``, ``priority``, ``required`` and ``preferred`` (a level or empty), ``roles`` (``name``,
  ``count``, ``cpu``, ``memory``, ``gpu`` of one replica) and ``running``: null for a gang that waits, else for each role
  the position in ``nodes`` of each of its replicas. Waiting gangs are in the order of their arrival.
"""
