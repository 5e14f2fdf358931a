"""Frameworks must not send anything anywhere while they are tested."""

import os

os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"
