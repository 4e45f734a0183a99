#!/usr/bin/env python3
"""Stands for tcu_bench and tcu_peer_cub in test_instructions.py: writes FAKE_ROWS to what --out names."""
import os
import shutil
import sys

if "--once" in sys.argv:
    shutil.copy(os.environ["FAKE_ROWS"], sys.argv[sys.argv.index("--out") + 1])
