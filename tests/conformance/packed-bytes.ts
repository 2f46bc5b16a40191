import type { PackedBytes } from "./case-format.ts";

/** Converts bytes to their form in a case file. */
export function packBytes(bytes: Uint8Array): PackedBytes {
  const buffer = Buffer.from(bytes);
  const text = buffer.toString("utf8");
  return Buffer.compare(Buffer.from(text), buffer) === 0 ? { text } : { base64: buffer.toString("base64") };
}

/** The inverse of `packBytes`. */
export function unpackBytes(packed: PackedBytes): Uint8Array {
  return new Uint8Array("text" in packed ? Buffer.from(packed.text) : Buffer.from(packed.base64, "base64"));
}
