"""Tests every vector, and a receiver that uses the functions."""

import json
import time
import unittest
from pathlib import Path

from verify import verify, verify_standard

VECTORS = json.loads(Path(__file__).with_name("vectors.json").read_text(encoding="utf-8"))["vectors"]


class Vectors(unittest.TestCase):
    def test_every_vector(self):
        self.assertGreater(len(VECTORS), 20)
        for it in VECTORS:
            with self.subTest(it["title"]):
                body, headers = it["body"].encode(), it["headers"]
                own = verify(
                    it["secret"], body, headers["X-Timestamp"], headers["X-Signature"], it["now_ms"]
                )
                standard = verify_standard(
                    it["secret"],
                    body,
                    headers["webhook-id"],
                    headers["webhook-timestamp"],
                    headers["webhook-signature"],
                    it["now_ms"],
                )
                self.assertEqual((own, standard), (it["own"], it["standard"]))

    def test_a_header_that_is_not_there_is_no_signature(self):
        it = VECTORS[0]
        body, names = it["body"].encode(), ["webhook-id", "webhook-timestamp", "webhook-signature"]
        own = [it["headers"]["X-Timestamp"], it["headers"]["X-Signature"]]
        standard = [it["headers"][name] for name in names]
        self.assertTrue(verify(it["secret"], body, *own, it["now_ms"]))
        self.assertTrue(verify_standard(it["secret"], body, *standard, it["now_ms"]))
        for values, function in [(own, verify), (standard, verify_standard)]:
            for at in range(len(values)):
                without = [*values[:at], None, *values[at + 1 :]]
                self.assertFalse(function(it["secret"], body, *without, it["now_ms"]))

    def test_the_clock_is_read_when_no_time_is_given(self):
        it = VECTORS[0]
        headers = it["headers"]
        old = verify(it["secret"], it["body"].encode(), headers["X-Timestamp"], headers["X-Signature"])
        recent = abs(time.time() * 1000 - it["now_ms"]) < 300_000
        self.assertEqual(old, recent)


if __name__ == "__main__":
    unittest.main()
