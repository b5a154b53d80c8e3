# title: settings in a JSON file
# expect: ok
# check: result == {"theme": "dark", "sizes": [1, 2]}
import json
from pathlib import Path

Path("settings.json").write_text(json.dumps({"theme": "dark", "sizes": [1, 2]}, indent=2))
result = json.loads(Path("settings.json").read_text())
