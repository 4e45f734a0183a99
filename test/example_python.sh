#!/bin/sh
# Runs the Python example with the system's python3; 77 (skipped) if it or NumPy is not here.
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }
python3 -c 'import numpy' 2>/dev/null || { echo "skipped: python3 has no NumPy"; exit 77; }
exec python3 "$1/examples/python/tcuops_example.py"
