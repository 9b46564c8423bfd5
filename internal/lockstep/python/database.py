"""Reads and writes rows of Ironic's table of nodes.

Each line of input is {"uuid": ..., "set": {column: value}}; without a set the
row is only read. A row is written once the node is not reserved. The answer is
the new row, or {"error": ...}.
"""

import json
import sqlite3
import sys
import time

PATIENCE = 30

database = sqlite3.connect(sys.argv[1], timeout=PATIENCE, isolation_level=None)
database.row_factory = sqlite3.Row
database.execute("PRAGMA journal_mode = WAL")
database.execute("PRAGMA synchronous = OFF")


def write(uuid, columns):
    assignments = ", ".join(f"{column} = ?" for column in columns)
    statement = (f"UPDATE nodes SET {assignments} "
                 "WHERE uuid = ? AND reservation IS NULL")
    give_up = time.monotonic() + PATIENCE
    while not database.execute(statement, [*columns.values(), uuid]).rowcount:
        if time.monotonic() > give_up:
            raise TimeoutError(f"node {uuid} is missing, or held for {PATIENCE} s")
        time.sleep(0.002)


def answer(question):
    if question.get("set"):
        write(question["uuid"], question["set"])
    row = database.execute("SELECT * FROM nodes WHERE uuid = ?", [question["uuid"]])
    return dict(row.fetchone())


for line in sys.stdin:
    try:
        reply = answer(json.loads(line))
    except Exception as error:
        reply = {"error": repr(error)}
    print(json.dumps(reply), flush=True)
