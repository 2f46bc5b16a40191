import { createReadStream } from "node:fs";
import { open } from "node:fs/promises";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { MissingPackageError } from "../../../../adapters/optional-packages.ts";
import { createCsvReader } from "../../../../core/pricing/statements/csv-reader.ts";
import {
  columnName,
  findPageFormat,
  isEmptyPage,
  parsePages,
} from "../../../../core/pricing/statements/statement-formats.ts";
import { CommandFailure } from "../../../program/exit-codes.ts";
import { describeFileProblem } from "../../../render/file-problem.ts";
import { createRowReader, emit, type OnLine } from "./row-reader.ts";

/** The largest JSON document. A provider's page has 31 days at most. */
const MAX_DOCUMENT_BYTES = 16 * 1024 * 1024;

/** Reads a statement: JSON, JSON lines, CSV or Parquet; JSON and CSV also compressed with gzip. */
export async function readStatementFile(path: string, onLine: OnLine): Promise<void> {
  const start = await reading(path, () => readStart(path));
  if (start.toString("latin1") === "PAR1") {
    const { readParquetRows } = await import("./read-parquet-rows.ts");
    return await reading(path, () => readParquetRows(path, createRowReader(path, onLine)));
  }
  const isGzip = start[0] === 0x1f && start[1] === 0x8b;
  const raw = createReadStream(path);
  const stream: Readable = isGzip ? raw.pipe(createGunzip()) : raw;
  raw.on("error", (cause) => stream.destroy(cause));
  await reading(path, () => readText(path, stream, onLine)).finally(() => raw.destroy());
}

/** Reads the bytes that tell the formats apart. */
async function readStart(path: string): Promise<Buffer> {
  const file = await open(path);
  const { bytesRead, buffer } = await file.read(new Uint8Array(4), 0, 4, 0).finally(() => file.close());
  return Buffer.from(buffer.subarray(0, bytesRead));
}

/** Runs a reader, and names the file in its error. */
async function reading<T>(path: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (cause) {
    if (cause instanceof CommandFailure) throw cause;
    const message = describeFileProblem(cause);
    throw new CommandFailure(
      cause instanceof MissingPackageError ? message : `Could not read ${path}: ${message}.`,
    );
  }
}

/** Reads text that begins with a brace as JSON, anything else as CSV. */
async function readText(path: string, stream: Readable, onLine: OnLine): Promise<void> {
  const chunks = stream.setEncoding("utf8")[Symbol.asyncIterator]() as AsyncIterator<string>;
  let first = "";
  while (first.trim() === "") {
    const { value, done } = await chunks.next();
    if (done === true) throw new CommandFailure(`${path} is empty.`);
    first += value;
  }
  const isJson = /^\uFEFF?\s*[[{]/.test(first);
  await (isJson ? readJson : readCsv)(path, withFirst(first, chunks), onLine);
}

async function* withFirst(first: string, rest: AsyncIterator<string>): AsyncGenerator<string> {
  yield first;
  for (;;) {
    const { value, done } = await rest.next();
    if (done === true) return;
    yield value;
  }
}

async function readCsv(path: string, chunks: AsyncIterable<string>, onLine: OnLine): Promise<void> {
  const reader = createCsvReader();
  const rows = createRowReader(path, onLine);
  let columns: string[] | null = null;
  let row = 0;
  const take = (fields: readonly string[]) => {
    row++;
    if (columns === null) {
      columns = fields.map(columnName);
      return rows.begin(columns);
    }
    rows.onRow(Object.fromEntries(columns.map((name, index) => [name, fields[index] ?? ""])), row);
  };
  for await (const chunk of chunks) reader.push(chunk).forEach(take);
  reader.end().forEach(take);
}

/** Reads a document, or one document per line if the text is longer than a document may be. */
async function readJson(path: string, chunks: AsyncIterable<string>, onLine: OnLine): Promise<void> {
  const held: string[] = [];
  let length = 0;
  const iterator = chunks[Symbol.asyncIterator]();
  for (;;) {
    const { value, done } = await iterator.next();
    if (done === true) break;
    held.push(value);
    length += value.length;
    if (length > MAX_DOCUMENT_BYTES) return await readJsonLines(path, held.join(""), iterator, onLine);
  }
  const text = held.join("").replace(/^\uFEFF/, "");
  const whole = parsePages(text);
  if (whole.ok || !text.trimEnd().includes("\n")) return readPages(path, text, onLine);
  for (const [index, line] of text.split("\n").entries())
    if (line.trim() !== "") readPages(`${path}, line ${index + 1}`, line, onLine);
}

async function readJsonLines(
  path: string,
  first: string,
  rest: AsyncIterator<string>,
  onLine: OnLine,
): Promise<void> {
  const { Readable } = await import("node:stream");
  const lines = createInterface({ input: Readable.from(withFirst(first, rest)), crlfDelay: Infinity });
  let number = 0;
  for await (const line of lines) {
    number++;
    if (line.trim() !== "") readPages(`${path}, line ${number}`, line, onLine);
  }
}

/** Reads the pages of a JSON text. */
export function readPages(name: string, text: string, onLine: OnLine): void {
  const parsed = parsePages(text);
  if (!parsed.ok) throw new CommandFailure(`${name} ${parsed.problem}.`);
  for (const page of parsed.pages) {
    const format = findPageFormat(page);
    if (format !== null) emit(name, format.readPage(page), format, onLine);
    else if (!isEmptyPage(page))
      throw new CommandFailure(`${name} is not a page of a known report. See: meter reconcile bill --help`);
  }
}
