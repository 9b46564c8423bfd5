"""Reads and writes rows of Ironic's table of nodes.

Each line of input is {"uuid": ..., "set": {column: value}}. Without "set" the
row is only read. A write waits until the node has no reservation but SOMEBODY's,
for at most TIMEOUT seconds. Meanwhile it only reads: an update that changes no row
would lock the database, too, against Ironic's write that ends the reservation. The
answer is the row after the write, or {"error": ...}.
{"wipe": true} removes all rows but the conductors', and {"dead": NAME}
adds a conductor that has died; both are answered {}.
"""

import json
import sqlite3
import sys
import time

TIMEOUT = float(sys.argv[2])
SOMEBODY = "somebody"  # holds the reservations that a write has set

database = sqlite3.connect(sys.argv[1], timeout=TIMEOUT, isolation_level=None)
database.row_factory = sqlite3.Row
database.execute("PRAGMA journal_mode = WAL")
database.execute("PRAGMA synchronous = OFF")


def write(uuid, columns):
    assignments = ", ".join(f"{column} = ?" for column in columns)
    statement = (f"UPDATE nodes SET {assignments} "
                 "WHERE uuid = ? AND coalesce(reservation, ?) = ?")
    deadline = time.monotonic() + TIMEOUT
    while True:
        rows = database.execute("SELECT reservation FROM nodes WHERE uuid = ?", [uuid]).fetchall()
        if not rows:
            raise LookupError(f"there is no node {uuid}")
        holder = rows[0]["reservation"] or SOMEBODY
        if holder == SOMEBODY and database.execute(statement, [*columns.values(), uuid, SOMEBODY, SOMEBODY]).rowcount:
            return
        if time.monotonic() > deadline:
            raise TimeoutError(f"{holder} has reserved node {uuid} for {TIMEOUT:g} s")
        time.sleep(0.002)


def wipe():
    tables = database.execute(
        "SELECT name FROM sqlite_master WHERE type = 'table' "
        "AND name NOT LIKE 'conductor%' AND name NOT LIKE 'alembic%'").fetchall()
    database.execute("BEGIN IMMEDIATE")
    for (name,) in tables:
        database.execute(f"DELETE FROM {name}")
    database.execute("COMMIT")


def answer(question):
    if question.get("wipe"):
        wipe()
        return {}
    if question.get("dead"):
        database.execute("INSERT INTO conductors (hostname, online, updated_at, drivers, conductor_group) "
                         "VALUES (?, 0, '2000-01-01 00:00:00', '[]', '')", [question["dead"]])
        return {}
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
