#!/bin/sh
# Install rankloom from its sources into a folder of its own: sh deploy/install.sh SOURCES FOLDER
set -eu
python3 -m venv "$2"
"$2/bin/python" -m pip install --quiet --no-cache-dir --disable-pip-version-check "$1[serve,dense]"
