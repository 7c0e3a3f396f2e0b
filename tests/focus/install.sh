#!/usr/bin/env bash
# Makes the environment in which exports are checked: `tests/focus/install.sh DIR`. The validator of FOCUS
# needs Python 3.12 or later, which the system's may not be.
set -euo pipefail
dir=$1
here=$(dirname "$0")

shopt -s nullglob
for python in python3 python3.14 python3.13 python3.12 "${PYENV_ROOT:-$HOME/.pyenv}"/versions/*/bin/python3; do
    if "$python" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 12))' 2>/dev/null; then
        "$python" -m venv --clear "$dir"
        "$dir/bin/pip" install --quiet --disable-pip-version-check --requirement "$here/requirements.txt"
        exit 0
    fi
done
echo 'tests/focus/install.sh: no Python of 3.12 or later with venv: the validator of FOCUS needs one.' >&2
exit 1
