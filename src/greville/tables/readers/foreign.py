"""Files in formats that cannot be read: what they are, and what to do instead."""

from __future__ import annotations

from ..batch import TableError

# What a file is, the bytes at some place in it, and what to do; by default to convert it.
_CONVERT = "write it as CSV or Parquet with the program that it is from, or with pandas"
_UNPACK = "unpack it, and pass the files in it"
_KINDS: tuple[tuple[str, int, tuple[bytes, ...], str], ...] = (
    ("a DuckDB database", 8, (b"DUCK",), _CONVERT),
    ("an old Excel or Office file", 0, (b"\xd0\xcf\x11\xe0\xa1\xb1",), "save it as .xlsx or CSV"),
    ("a Python pickle, which is never read because it could run any program", 0,
     (b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05"), _CONVERT),
    ("an SPSS file", 0, (b"$FL2", b"$FL3"), _CONVERT),
    ("a Stata file", 0, (b"<stata_dta>", b"\x72\x02\x01\x00", b"\x73\x02\x01\x00"), _CONVERT),
    ("a SAS file", 12, (b"\xc2\xea\x81\x60\xb3\x14\x11\xcf",), _CONVERT),
    ("an R data file", 0, (b"RDX2\n", b"RDX3\n", b"X\n\0\0\0", b"A\n2\n", b"A\n3\n"),
     "write it as CSV in R: write.csv(x, 'x.csv', row.names = FALSE)"),
    ("an HDF5 or NetCDF file", 0, (b"\x89HDF\r\n\x1a\n", b"CDF\x01", b"CDF\x02"), _CONVERT),
    ("a MATLAB file", 0, (b"MATLAB 5.0",), _CONVERT),
    ("an ORC file", 0, (b"ORC",), _CONVERT),
    ("an Avro file", 0, (b"Obj\x01",), _CONVERT),
    ("a 7-zip or RAR archive", 0, (b"7z\xbc\xaf\x27\x1c", b"Rar!\x1a\x07"), _UNPACK),
    ("an xz archive", 0, (b"\xfd7zXZ\0",), _UNPACK),
    ("a tar archive", 257, (b"ustar",), _UNPACK),
    ("a PDF document", 0, (b"%PDF-",), "pass a table"),
    ("a picture", 0, (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF8"), "pass a table"),
    ("a pointer of Git LFS", 0, (b"version https://git-lfs",), "get the file: git lfs pull"),
    ("a model of greville or other tensors", 8, (b'{"__metadata__"',), "pass a table"),
)  # fmt: skip


def check_not_foreign(name: str, head: bytes) -> None:
    """Raise a TableError that says what contents are, if they begin like something else."""
    for what, place, starts, advice in _KINDS:
        if head[place:].startswith(starts):
            raise TableError(f"{name}: it is {what}; {advice}.")
    start = head.lstrip().lower()
    if start.startswith((b"<!doctype html", b"<html")):
        raise TableError(f"{name}: it is a web page; download the table itself.")
    if start.startswith(b"<?xml"):
        raise TableError(f"{name}: it is XML; {_CONVERT}.")
