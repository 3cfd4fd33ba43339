"""The image that all components run in, named once.

``GANGPLAN_IMAGE`` replaces it when a pipeline is compiled, for a registry of your own or a digest. The name contains
``python`` because KFP's local runner warns about images that do not.
"""

import os

VERSION = "0.1.0"
IMAGE = os.environ.get("GANGPLAN_IMAGE", f"gangplan/python:{VERSION}")
