from tests.sidecar.worlds import world

__all__ = ["world"]
