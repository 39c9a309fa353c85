"""Install, uninstall and test lcc-sidecar; run by path as `python3 install`, never installed."""
