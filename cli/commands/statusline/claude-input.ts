import { fstatSync } from "node:fs";
import type { Readable } from "node:stream";

/** A window as Claude Code states it. */
export interface ClaudeWindow {
  readonly window: string;
  readonly usedPercent: number;
  /** Milliseconds since the epoch; null if unknown. */
  readonly resetsAt: number | null;
}

/** What a status line uses of the JSON that Claude Code passes. Null is unknown. */
export interface ClaudeInput {
  readonly model: string | null;
  readonly sessionId: string | null;
  readonly costUsd: number | null;
  readonly limits: readonly ClaudeWindow[];
}

/** How long standard input may stay silent, in milliseconds. A shell's prompt may leave a pipe open. */
const SILENCE_MS = 150;

/** The longest input that is read, in bytes: more than Claude Code passes. */
const MAX_INPUT = 256 * 1024;

type Input = Readable & { readonly isTTY?: boolean; readonly fd?: number };

/** Reads standard input if something may be there: a pipe, a socket or a file. The text is empty otherwise, and if nothing arrives. */
export async function readInput(stdin: Input): Promise<string> {
  if (stdin.isTTY === true || !mayHaveInput(stdin)) return "";
  return await new Promise((resolve) => {
    let text = "";
    const finish = () => {
      clearTimeout(timer);
      stdin.destroy();
      resolve(text);
    };
    const timer = setTimeout(finish, SILENCE_MS);
    stdin.setEncoding("utf8");
    stdin.on("data", (part: string) => {
      text += part;
      if (text.length > MAX_INPUT) finish();
    });
    stdin.on("end", finish).on("error", finish);
  });
}

/** `/dev/null`, as tmux and cron pass it, is neither. */
function mayHaveInput({ fd }: Input): boolean {
  if (fd === undefined) return true;
  try {
    const stats = fstatSync(fd);
    return stats.isFIFO() || stats.isFile() || stats.isSocket();
  } catch {
    return false;
  }
}

const asObject = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};

const asText = (value: unknown): string | null => (typeof value === "string" && value !== "" ? value : null);

const asAmount = (value: unknown): number | null =>
  typeof value === "number" && Number.isFinite(value) && value >= 0 ? value : null;

/** Parses what Claude Code passes: `{session_id, model: {display_name}, cost: {total_cost_usd}, rate_limits}`. Null for any other text. */
export function parseClaudeInput(text: string): ClaudeInput | null {
  let input: unknown;
  try {
    input = JSON.parse(text);
  } catch {
    return null;
  }
  if (typeof input !== "object" || input === null) return null;
  const { session_id, model, cost, rate_limits } = asObject(input);
  const { five_hour, seven_day } = asObject(rate_limits);
  return {
    model: asText(asObject(model).display_name) ?? asText(asObject(model).id),
    sessionId: asText(session_id),
    costUsd: asAmount(asObject(cost).total_cost_usd),
    limits: [...readWindow("5h", five_hour), ...readWindow("7d", seven_day)],
  };
}

function readWindow(window: string, value: unknown): ClaudeWindow[] {
  const { used_percentage, resets_at } = asObject(value);
  const usedPercent = asAmount(used_percentage);
  if (usedPercent === null) return [];
  const seconds = asAmount(resets_at);
  const parsed = typeof resets_at === "string" ? Date.parse(resets_at) : Number.NaN;
  return [
    {
      window,
      usedPercent,
      resetsAt: seconds === null ? (Number.isNaN(parsed) ? null : parsed) : seconds * 1_000,
    },
  ];
}
