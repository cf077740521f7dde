"""`warm_command.py SOCKET command ...` runs a voirdire command in a fork of tests/warm.py.

`warm_command.py SOCKET code ...` runs Python code there. Loads next to nothing, so that it starts at once.
"""

import json
import os
import socket
import sys

path, kind, *arguments = sys.argv[1:]
asked = {
    "folder": os.getcwd(),
    "environment": dict(os.environ),
    "arguments": arguments,
    "code": arguments[0] if kind == "code" else None,
}
with socket.socket(socket.AF_UNIX) as caller:
    caller.connect(path)
    said = json.dumps(asked).encode()
    sent = socket.send_fds(caller, [said], [0, 1, 2])
    caller.sendall(said[sent:])
    caller.shutdown(socket.SHUT_WR)
    os.close(1)  # the fork has them: whoever reads our output waits for it alone
    os.close(0)
    code = caller.recv(16)
os._exit(int(code) if code else 70)
