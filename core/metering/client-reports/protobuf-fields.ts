import { encodeHex } from "../../values/hash-text.ts";

/** Thrown if bytes are not the protobuf message that they should be. The message names no content. */
export class ProtobufError extends Error {
  override readonly name = "ProtobufError";
}

/** How a field is read; `bytes` are an id. A shape is a nested message. All other fields are skipped. */
type FieldKind = "text" | "flag" | "varint" | "fixed64" | "double" | "bytes" | Shape;

/** A field that is read: its name in OTLP's JSON, how it is read, and whether it is a list. */
export interface Field {
  readonly name: string;
  readonly kind: FieldKind;
  readonly isList?: true;
}

/** A message: its fields by number. */
export type Shape = ReadonlyMap<number, Field>;

/** How many values one payload may contain, skipped ones included. They need many times the memory of their bytes, and time. */
const MAX_VALUES = 2_000_000;

/** The longest bytes that are read. An id of a trace has 16, that of a span 8. */
const MAX_ID_BYTES = 32;

interface Input {
  readonly bytes: Uint8Array;
  readonly view: DataView;
  at: number;
  values: number;
}

/**
 * Decodes a protobuf message to the object that its JSON form would be parsed to. Only the fields of the shape are read, so the
 * depth is that of the shape. 64-bit integers are texts. Source: protobuf.dev, "Encoding" (wire types 0, 1, 2 and 5).
 */
export function decodeProtobuf(bytes: Uint8Array, shape: Shape): Record<string, unknown> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return readMessage({ bytes, view, at: 0, values: 0 }, bytes.length, shape);
}

function readMessage(input: Input, end: number, shape: Shape): Record<string, unknown> {
  const message: Record<string, unknown> = {};
  while (input.at < end) {
    const tag = readVarint(input, end);
    const wireType = Number(tag & 7n);
    const field = shape.get(Number(tag >> 3n));
    if (tag >> 3n === 0n) throw new ProtobufError("a field has the number 0");
    const value = readValue(input, end, wireType, field);
    input.values += 1;
    if (input.values > MAX_VALUES) throw new ProtobufError("there are too many values");
    if (field === undefined || value === undefined) continue;
    if (field.isList !== true) message[field.name] = value;
    else if (message[field.name] === undefined) message[field.name] = [value];
    else (message[field.name] as unknown[]).push(value);
  }
  return message;
}

const TEXT = new TextDecoder();

/** Reads or skips one value. Undefined if it is skipped. */
function readValue(input: Input, end: number, wireType: number, field: Field | undefined): unknown {
  const kind = field?.kind;
  switch (wireType) {
    case 0: {
      const value = readVarint(input, end);
      if (kind === "flag") return value !== 0n;
      return kind === "varint" ? String(BigInt.asIntN(64, value)) : undefined;
    }
    case 1: {
      const at = take(input, end, 8);
      if (kind === "double") return input.view.getFloat64(at, true);
      return kind === "fixed64" ? String(input.view.getBigInt64(at, true)) : undefined;
    }
    case 2: {
      const length = readVarint(input, end);
      if (length > BigInt(end - input.at)) throw new ProtobufError("a value is longer than its message");
      return readBytes(input, input.at + Number(length), kind);
    }
    case 5:
      take(input, end, 4);
      return undefined;
    default:
      throw new ProtobufError(`wire type ${wireType} is unknown`);
  }
}

function readBytes(input: Input, end: number, kind: FieldKind | undefined): unknown {
  if (typeof kind === "object") return readMessage(input, end, kind);
  const bytes = input.bytes.subarray(input.at, end);
  input.at = end;
  if (kind === "text") return TEXT.decode(bytes);
  return kind === "bytes" && bytes.length <= MAX_ID_BYTES ? encodeHex(bytes) : undefined;
}

function take(input: Input, end: number, count: number): number {
  const { at } = input;
  if (count > end - at) throw new ProtobufError("the message ends in the middle of a value");
  input.at += count;
  return at;
}

function readVarint(input: Input, end: number): bigint {
  let value = 0n;
  for (let shift = 0n; shift < 70n; shift += 7n) {
    const byte = input.bytes[take(input, end, 1)] as number;
    value |= BigInt(byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
  throw new ProtobufError("an integer is longer than ten bytes");
}
