"""Items that are read from a file and not recorded: those that are only to be graded."""

from __future__ import annotations

from calibration.interchange.grid import Rejected
from calibration.interchange.native.core import ImportOptions, Tally
from calibration.interchange.native.fields import BadField
from calibration.interchange.native.items import ITEM_FIELDS, ItemReader
from calibration.interchange.native.source import Record, open_native
from rubrics.errors import DeclarationError, TableError
from rubrics.item import Item


def read_items(source: str) -> tuple[Item, ...]:
    """The items of a native file, in its order, read as `voirdire items import` reads them.

    Args:
        source: a path, or - for standard input.

    Raises:
        TableError: the first record that is no item, or an id that stands twice, with its line.
        DeclarationError: the file cannot be read.
    """
    with open_native(source, known=ITEM_FIELDS) as file:
        reader = ItemReader(file, ImportOptions(dataset=""), Tally())
        lines: dict[str, int] = {}
        items = []
        for record in file.records():
            item = _item(reader, record, file.name)
            if item.item_id in lines:
                raise TableError(
                    f"{file.name}, line {record.line}: item_id {item.item_id!r} stands in line "
                    f"{lines[item.item_id]} too; give every item an id of its own",
                    line=record.line,
                    field="item_id",
                )
            lines[item.item_id] = record.line
            items.append(item)
        return tuple(items)


def _item(reader: ItemReader, record: Record | Rejected, name: str) -> Item:
    if isinstance(record, Rejected):
        raise TableError(
            f"{name}, line {record.line}: {record.message}", line=record.line, field=record.field
        )
    try:
        return reader.read(record)
    except (BadField, DeclarationError) as bad:
        field = getattr(bad, "field", None)
        raise TableError(f"{name}, line {record.line}: {bad}", line=record.line, field=field) from bad
