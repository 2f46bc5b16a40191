import { readFile, stat } from "node:fs/promises";
import { basename } from "node:path";
import { UsageError } from "clipanion";
import { MAX_PRICE_LIST_LENGTH } from "../../../core/pricing/sources/number-texts.ts";
import { PRICE_FORMATS, type PriceFormat } from "../../../core/pricing/sources/price-sources.ts";
import type { CommandContext } from "../../program/command-context.ts";
import { CommandFailure } from "../../program/exit-codes.ts";
import { describeFileProblem } from "../../render/file-problem.ts";
import { describeResult, requestRates } from "./pull-rates.ts";

/** The options of `meter pricing import`. */
export interface ImportRatesOptions {
  readonly format: string;
  /** A file, or an https URL. */
  readonly from: string;
}

/** Imports a price list once. */
export async function importRates(context: CommandContext, options: ImportRatesOptions): Promise<void> {
  const { from } = options;
  const format = PRICE_FORMATS.find((name) => name === options.format);
  if (format === undefined)
    throw new UsageError(`Unknown format: ${options.format}. Expected: ${PRICE_FORMATS.join(", ")}.`);
  const list = /^https?:/i.test(from) ? listAt(from, format) : await readList(from, format);
  context.print(describeResult(await requestRates(context, { list })));
}

function listAt(url: string, format: PriceFormat) {
  const host = URL.parse(url)?.host;
  if (host === undefined) throw new UsageError(`Invalid URL: ${url}.`);
  return { name: nameOf(format, host), format, from: { url } };
}

async function readList(file: string, format: PriceFormat) {
  return { name: nameOf(format, basename(file)), format, from: { text: await readText(file) } };
}

async function readText(file: string): Promise<string> {
  try {
    const { size } = await stat(file);
    if (size <= MAX_PRICE_LIST_LENGTH) return await readFile(file, "utf8");
    throw new CommandFailure(`${file} is too large: ${size} bytes. A price list has at most 16 MiB.`);
  } catch (cause) {
    if (cause instanceof CommandFailure) throw cause;
    throw new CommandFailure(`Could not read ${file}: ${describeFileProblem(cause)}.`);
  }
}

/** Returns the name of the source: a copy of a public list is that list. */
function nameOf(format: PriceFormat, place: string): string {
  return format === "meter" ? place : format;
}
