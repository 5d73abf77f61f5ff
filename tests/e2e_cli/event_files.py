"""Reads TensorBoard event files: TFRecords with masked CRC-32C, Events and Summaries in protobuf's
wire format. Written from their definitions (record_reader.cc, event.proto, summary.proto)."""
import struct

POLYNOMIAL = 0x82F63B78  # CRC-32C, reflected


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (POLYNOMIAL if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


assert crc32c(b"123456789") == 0xE3069283


def masked(data):
    crc = crc32c(data)
    return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF


def records(data):
    while data:
        head, length_crc = data[:8], struct.unpack("<I", data[8:12])[0]
        assert masked(head) == length_crc, "checksum of a length"
        length = struct.unpack("<Q", head)[0]
        body, rest = data[12:12 + length], data[12 + length:]
        assert len(body) == length and masked(body) == struct.unpack("<I", rest[:4])[0], "checksum"
        yield body
        data = rest[4:]


def varint(data):
    value = shift = 0
    while True:
        byte, data = data[0], data[1:]
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, data


def fields(data):
    """(number, value): int of a varint, float, or bytes."""
    while data:
        key, data = varint(data)
        kind = key & 7
        if kind == 0:
            value, data = varint(data)
        elif kind == 1:
            value, data = struct.unpack("<d", data[:8])[0], data[8:]
        elif kind == 5:
            value, data = struct.unpack("<f", data[:4])[0], data[4:]
        else:
            assert kind == 2, kind
            length, data = varint(data)
            value, data = data[:length], data[length:]
            assert len(value) == length
        yield key >> 3, value


def scalars(data):
    """[(wall_time, step, {tag: value})]; the first record must be the version."""
    first, *rest = records(data)
    assert dict(fields(first))[3] == b"brain.Event:2", first
    found = []
    for body in rest:
        event = dict(fields(body))
        values = [dict(fields(value)) for number, value in fields(event[5]) if number == 1]
        found.append((event[1], event.get(2, 0), {value[1].decode(): value[2] for value in values}))
    return found
