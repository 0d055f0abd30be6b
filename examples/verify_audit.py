"""Verifies an export of the audit log, with only Python's standard library.
usage: verify_audit.py EXPORT.json [CHECKPOINT_FILE [PUBLIC_KEY_HEX]]     exit code 3: not intact
"""
import json, sys
from hashlib import sha256, sha512

ENTRY, POINT = b"idgate-audit-v1\n", b"idgate-audit-checkpoint-v1\n"
REMOVAL = b"idgate-audit-removal-v1\n"
P, Q = 2**255 - 19, 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P
def check(holds, problem):
    if not holds:
        raise ValueError(problem)

def add(a, b):  # points of Ed25519 (RFC 8032 5.1.4)
    e, f = (a[1] - a[0]) * (b[1] - b[0]), (a[1] + a[0]) * (b[1] + b[0])
    g, h = 2 * a[3] * b[3] * D, 2 * a[2] * b[2]
    return (f - e) * (h - g) % P, (h + g) * (f + e) % P, (h - g) * (h + g) % P, (f - e) * (f + e) % P
def times(n, p):
    return (0, 1, 1, 0) if n == 0 else add(times(n // 2, add(p, p)), p if n % 2 else (0, 1, 1, 0))
def decode(data):
    y = int.from_bytes(data, "little") % 2**255
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(square, (P + 3) // 8, P)
    x = x if x * x % P == square else x * pow(2, (P - 1) // 4, P) % P
    check(x * x % P == square and y < P, "a key or signature is not a point of the curve")
    x = x if x % 2 == data[31] >> 7 else P - x
    return x, y, 1, x * y % P
def is_signed(key, signature, text):
    k, s = sha512(signature[:32] + key + text).digest(), int.from_bytes(signature[32:], "little")
    left = times(s, decode((4 * pow(5, -1, P) % P).to_bytes(32, "little")))
    right = add(decode(signature[:32]), times(int.from_bytes(k, "little") % Q, decode(key)))
    return s < Q and all((left[i] * right[2] - right[i] * left[2]) % P == 0 for i in (0, 1))

def canonical(value, *without):  # RFC 8785, for texts and whole numbers
    kept = {name: member for name, member in value.items() if name not in without}
    return json.dumps(kept, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
def verify(export, elsewhere, key):
    hashes, points, last, gone = {}, {}, {}, {}
    def signed(what, prefix, where):
        text, signer = prefix + canonical(what, "public_key", "signature"), what["public_key"]
        good = is_signed(bytes.fromhex(signer), bytes.fromhex(what["signature"]), text)
        check(good and signer == (key or signer), f"{where} is not signed by {key or signer}")
        return sha256(text).hexdigest(), signer
    for end in export.get("removals", []):  # entries that were removed because of their age
        client, seq = end["client_id"], end["last_seq"]
        _, key = signed(end, REMOVAL, f"{client}: the removal up to {seq}")
        gone[client] = last[client] = seq
        hashes[client, seq] = end["last_hash"]
    for entry in export["entries"]:
        client, seq, prev = entry["client_id"], entry["seq"], entry["prev_hash"]
        before = hashes.get((client, seq - 1)) or sha256(ENTRY + client.encode()).hexdigest()
        check(seq == last.get(client, 0) + 1 and prev == before, f"{client}: {seq} does not follow")
        text = ENTRY + bytes.fromhex(prev) + canonical(entry, "prev_hash", "entry_hash")
        check(entry["entry_hash"] == sha256(text).hexdigest(), f"{client}: {seq} was changed")
        last[client], hashes[client, seq] = seq, entry["entry_hash"]
    for kept, point in [(0, p) for p in export["checkpoints"]] + [(1, p) for p in elsewhere]:
        client, where = point["client_id"], f"{point['client_id']}: the checkpoint at {point['seq']}"
        digest, key = signed(point, POINT, where)
        same = hashes.get((client, point["seq"])) == point["head_hash"]
        check(same or point["seq"] < gone.get(client, 0), f"{where} has another head")
        before = points.get(client) or sha256(POINT + client.encode()).hexdigest()
        check(kept or point["previous_checkpoint_hash"] == before, f"{where} lacks its predecessor")
        points[client] = digest
    return f"intact: {len(last)} chains, {len(hashes) - len(gone)} entries; signed by {key}"
try:
    kept = [json.loads(line) for path in sys.argv[2:3] for line in open(path) if line.endswith("}\n")]
    print(verify(json.load(open(sys.argv[1])), kept, (sys.argv[3:] or [None])[0]))
except (KeyError, TypeError, ValueError) as problem:
    sys.exit(print(f"NOT intact: {problem}") or 3)
