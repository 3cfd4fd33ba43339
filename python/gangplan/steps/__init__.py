"""The steps of a pipeline: documents in, documents out. Components, commands and local runs all call these.

Each step writes its results to the paths that it is given and touches nothing else but the gang's record, its
processes and its folder on the volume.
"""
