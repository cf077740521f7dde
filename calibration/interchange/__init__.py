"""Readers and writers of files: the flat table of `voirdire check` and other tools' exports.

Everything but `lines.read_bytes` and `lines.write_rejected` is pure: bytes in, records out.
"""
