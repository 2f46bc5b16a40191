import { once } from "node:events";
import { createWriteStream, type WriteStream } from "node:fs";
import { rename, rm, stat } from "node:fs/promises";
import type { Writable } from "node:stream";
import { finished } from "node:stream/promises";
import { UsageError } from "clipanion";
import type { RecordStore, StoredRequest } from "../../../daemon/store/port/records.ts";
import { withStore } from "../../home/open-store.ts";
import type { CommandContext } from "../../program/command-context.ts";
import { CommandFailure } from "../../program/exit-codes.ts";
import { type PeriodOptions, readPeriod } from "../../program/period.ts";
import { describeFileProblem } from "../../render/file-problem.ts";
import { type Convert, FORMAT_NAMES, type FormatName, type WritePart } from "./formats.ts";

/** The options of `meter export`. */
export interface ExportOptions extends PeriodOptions {
  readonly format: string;
  readonly output: string | undefined;
  readonly project: string | undefined;
  readonly model: string | undefined;
  readonly provider: string | undefined;
  readonly utc: boolean;
}

/** How many requests are read at once: a few milliseconds. */
const PAGE_ROWS = 1_000;

/** Exports requests. */
export async function exportRequests(context: CommandContext, options: ExportOptions): Promise<void> {
  const format = FORMAT_NAMES.find((name) => name === options.format);
  if (format === undefined)
    throw new UsageError(
      `Invalid value for --format: ${options.format}. Expected one of: ${FORMAT_NAMES.join(", ")}.`,
    );
  const output = options.output === "-" ? undefined : options.output;
  const isTerminal = (context.stdout as { isTTY?: boolean }).isTTY === true;
  if (format === "parquet" && output === undefined && isTerminal)
    throw new UsageError("Parquet is not text. Name a file: --output <file>.");
  const convert = await loadFormat(format);
  await withStore(context.home, { readOnly: true }, async ({ records }) => {
    const work = (write: WritePart) => convert(readPages(records, options), write);
    if (output === undefined) await writeToStdout(context.stdout, work);
    else await writeOutput(output, work);
  });
}

async function loadFormat(format: FormatName): Promise<Convert> {
  switch (format) {
    case "jsonl":
      return (await import("./text-formats.ts")).toJsonLines;
    case "csv":
      return (await import("./text-formats.ts")).toCsv;
    case "focus":
      return (await import("./focus.ts")).toFocus;
    case "parquet":
      return (await import("./parquet.ts")).loadParquet();
  }
}

async function* readPages(
  records: Pick<RecordStore, "read">,
  options: ExportOptions,
): AsyncGenerator<readonly StoredRequest[]> {
  const period = readPeriod(options, Date.now(), options.utc);
  const { project, model, provider } = options;
  for (let afterSeq = 0; ; ) {
    const page = records.read({ ...period, afterSeq, limit: PAGE_ROWS });
    const last = page.at(-1);
    if (last === undefined) return;
    yield page.filter(
      (request) =>
        (project === undefined || request.project === project) &&
        (model === undefined || request.model === model) &&
        (provider === undefined || request.provider === provider),
    );
    afterSeq = last.seq;
  }
}

/** Resolves once the part is written. Waiting for `drain` would never end on a stream that has failed. */
const writePart = (stream: Writable, part: string | Uint8Array): Promise<void> =>
  new Promise((resolve, reject) => {
    stream.write(part, (cause) => (cause ? reject(cause) : resolve()));
  });

/** Ends an export whose output can't be written. */
class UnwritableOutput extends Error {}

/** Writes to standard output. If that fails, `runProgram()` reports it, unless the reader has closed the pipe. */
async function writeToStdout(stream: Writable, work: (write: WritePart) => Promise<void>): Promise<void> {
  try {
    await work((part) =>
      writePart(stream, part).catch((cause: unknown) => {
        throw new UnwritableOutput("", { cause });
      }),
    );
  } catch (cause) {
    if (!(cause instanceof UnwritableOutput)) throw cause;
  }
}

/**
 * Writes a file that is complete or absent. Only this user can read it, since it names folders and projects. A device or a pipe, such as
 * `/dev/stdout`, is written to and stays.
 */
async function writeOutput(path: string, work: (write: WritePart) => Promise<void>): Promise<void> {
  try {
    const found = await stat(path).catch(() => null);
    if (found === null || found.isFile() || found.isDirectory()) await writeWholeFile(path, work);
    else await writeStream(createWriteStream(path), work);
  } catch (cause) {
    if (!(cause instanceof Error) || !("code" in cause) || !("syscall" in cause)) throw cause;
    throw new CommandFailure(`Could not write ${path}: ${describeFileProblem(cause)}.`);
  }
}

async function writeWholeFile(path: string, work: (write: WritePart) => Promise<void>): Promise<void> {
  const partial = `${path}.partial`;
  try {
    // One that is left from before could have other permissions, or be a link.
    await rm(partial, { force: true });
    await writeStream(createWriteStream(partial, { flags: "wx", mode: 0o600 }), work);
    await rename(partial, path);
  } catch (cause) {
    await rm(partial, { force: true }).catch(() => {});
    throw cause;
  }
}

async function writeStream(stream: WriteStream, work: (write: WritePart) => Promise<void>): Promise<void> {
  try {
    await once(stream, "open");
    await work((part) => writePart(stream, part));
    stream.end();
    await finished(stream);
  } catch (cause) {
    stream.destroy();
    throw cause;
  }
}
