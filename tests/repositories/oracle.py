#!/usr/bin/env python3
"""An agent that knows the fix of a seeded fault, and applies it only once the prompt reports a failed verification.
The first iteration writes a note, so that there is a commit to verify."""

import json
import os
import sys
from pathlib import Path

fix = json.loads(sys.argv[1])
prompt = Path(os.environ["AWO_PROMPT_FILE"]).read_text(encoding="utf-8")
if "This is iteration" not in prompt:
    Path("NOTES.md").write_text("The tests were not run yet.\n", encoding="utf-8")
    print("oracle: wrote a note")
else:
    print("oracle: the prompt has feedback")
    path = Path(fix["file"])
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace(fix["before"], fix["after"]), encoding="utf-8")
    Path("NOTES.md").unlink()
    print("oracle: applied the fix")
