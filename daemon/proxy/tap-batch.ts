import type { TapFrame } from "./tap-frames.ts";

/** The numbers of a record: connection, kind, time, offset and length. A 64-bit float holds each of them exactly. */
export const recordFields = 5;

/** The size of the header that `TapMemory.write()` sets, in bytes. */
const entryHeaderBytes = 16;

/** Where an entry of a `TapMemory` says where its records begin and end, as 32-bit integers. Its notes follow. */
export const placesAt = entryHeaderBytes;

/** The space before the bytes of an entry, in bytes. */
export const entryHeadBytes = placesAt + 8;

/** The kinds of records. */
export const requestData = 0;
export const responseData = 1;
export const requestEnded = 2;
export const responseEnded = 3;
export const noteFrame = 4;
/** The next request was not held. Its offset and length are the number of the request and that of the pass. */
export const passedRequest = 5;

/** The estimated memory size of a note, in bytes. It is generous, since the strings of a note are short. */
export const noteBytes = 512;

/** A batch of frames, which is transferred between threads. */
export interface TapBatch {
  readonly kind: "batch";
  readonly buffer: ArrayBuffer;
  readonly records: number;
  /** The memory size of the batch in bytes: its whole buffer, however full that is, and its notes. */
  readonly memoryBytes: number;
  /** Whether `reuse()` takes the buffer back. */
  readonly isReusable: boolean;
  /** The frames without bytes, which records refer to. */
  readonly notes: readonly TapFrame[];
}

/** Reads a batch back into frames. Their bytes are views of the batch's buffer, which is reused afterwards. */
export const readTapBatch = ({ buffer, records, notes }: TapBatch): TapFrame[] =>
  readRecords({ bytes: new Uint8Array(buffer), fields: new Float64Array(buffer), records, notes });

/** Reads an entry of a `TapMemory` back into frames. Their bytes are views of the entry. */
export function readTapEntry(entry: Uint8Array<ArrayBuffer>): {
  readonly notes: readonly TapFrame[];
  readonly frames: readonly TapFrame[];
  readonly memoryBytes: number;
} {
  const { buffer, byteOffset, length } = entry;
  const [recordsAt = 0, end = 0] = new Uint32Array(buffer, byteOffset + placesAt, 2);
  const notes =
    end === length ? [] : (JSON.parse(new TextDecoder().decode(entry.subarray(end))) as TapFrame[]);
  const fields = new Float64Array(buffer, byteOffset + recordsAt, (end - recordsAt) / 8);
  const frames = readRecords({ bytes: entry, fields, records: fields.length / recordFields, notes });
  return { notes, frames, memoryBytes: end + notes.length * noteBytes };
}

interface Records extends Pick<TapBatch, "records" | "notes"> {
  /** The records' offsets count from its beginning. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** The records, the first at the end. */
  readonly fields: Float64Array<ArrayBuffer>;
}

function readRecords({ bytes, fields, records, notes }: Records): TapFrame[] {
  const frames: TapFrame[] = [];
  for (let index = 1; index <= records; index += 1) {
    const field = fields.length - index * recordFields;
    const connection = fields[field] as number;
    const recordKind = fields[field + 1] as number;
    const atMs = fields[field + 2] as number;
    const offset = fields[field + 3] as number;
    if (recordKind === noteFrame) {
      frames.push(notes[offset] as TapFrame);
    } else if (recordKind === passedRequest) {
      frames.push({ kind: "passed", connection, request: offset, pass: fields[field + 4] as number });
    } else if (recordKind === requestData || recordKind === responseData) {
      frames.push({
        kind: "data",
        connection,
        direction: recordKind === requestData ? "request" : "response",
        bytes: bytes.subarray(offset, offset + (fields[field + 4] as number)),
        atMs,
      });
    } else {
      frames.push({
        kind: "ended",
        connection,
        direction: recordKind === requestEnded ? "request" : "response",
        atMs,
      });
    }
  }
  return frames;
}
