import type { StoredRequest } from "../../../daemon/store/port/records.ts";

/** The formats of `meter export`. */
export const FORMAT_NAMES = ["jsonl", "csv", "parquet", "focus"] as const;

/** A format of `meter export`. */
export type FormatName = (typeof FORMAT_NAMES)[number];

/** Writes a part of an export. Resolves when the next part may follow. */
export type WritePart = (part: string | Uint8Array) => Promise<void>;

/** Converts requests, which come in pages in order of arrival, and writes the result in parts. */
export type Convert = (pages: AsyncIterable<readonly StoredRequest[]>, write: WritePart) => Promise<void>;
