from lcc_sidecar.api import *  # noqa: F403 - its __all__ is the API

__version__: str
