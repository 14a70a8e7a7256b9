"""Answers as tests/gpu/peers.py does, without a GPU: fake_peers.py right|wrong|dies

The one peer, "torch.fake", copies V's numbers as its O, which is right where a row sees one key."""
import json
import os
import shutil
import sys


def answer(question, state):
    what = question["do"]
    if what == "begin":
        state["folder"] = question["folder"]
        return {"versions": "fake 1.0"}
    if what == "problem":
        return {"names": ["torch.fake", "torch.absent"]}
    if what == "prepare":
        if question["name"] == "torch.absent":
            return {"error": "there is no such kernel"}
        return {"flops": 2e9}
    if what == "time":
        if sys.argv[1] == "dies":
            sys.exit(0)
        return {"seconds": 0.25}
    if what == "result":
        source = "v" if sys.argv[1] == "right" else "k"
        shutil.copyfile(os.path.join(state["folder"], source), question["file"])
    return {}


state = {}
for line in sys.stdin:
    print(json.dumps(answer(json.loads(line), state)), flush=True)
