import process from "node:process";
import type { Readable, Writable } from "node:stream";
import { printableLines } from "./printable.ts";

/** The size of a terminal in cells. */
export interface ScreenSize {
  readonly columns: number;
  readonly rows: number;
}

/** A key: a letter, or the name of another key. */
export type Key = "up" | "down" | "left" | "right" | "escape" | (string & {});

/** A view that is drawn again and again. */
export interface LiveView {
  readonly intervalMs: number;
  /** Returns the lines to show. What does not fit is cut off. */
  draw(size: ScreenSize): Promise<string>;
  /** Handles a key other than `q` and Ctrl-C, which quit. Then the view is drawn again. */
  key?(key: Key): void;
}

/** A terminal's streams. Standard input may be something else. */
interface Terminal {
  readonly stdin: Readable & { isTTY?: boolean; setRawMode?(mode: boolean): void };
  readonly stdout: Writable & { isTTY?: boolean; columns?: number; rows?: number };
}

/** Switches to the alternate screen, hides the cursor and turns off line wrapping. */
const ENTER = "\u001b[?1049h\u001b[?25l\u001b[?7l";
const LEAVE = "\u001b[?7h\u001b[?25h\u001b[?1049l";

/** Moves to the first cell; erases the rest of a line; erases what is below. */
const HOME = "\u001b[H";
const END_OF_LINE = "\u001b[K";
const BELOW = "\u001b[J";

const CTRL_C = "\u0003";

/** The size of a terminal that does not tell. */
const DEFAULT_SIZE: ScreenSize = { columns: 80, rows: 24 };

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/**
 * Shows a view on the alternate screen until the user quits or the process gets a signal. The terminal is restored in each case,
 * also if drawing fails. Returns false, and shows nothing, if standard output is no terminal.
 */
export async function openLiveScreen(terminal: Terminal, view: LiveView): Promise<boolean> {
  const { stdin, stdout } = terminal;
  if (stdout.isTTY !== true) return false;
  const done = Promise.withResolvers<void>();
  let timer: NodeJS.Timeout | null = null;
  let isDrawing = false;
  let isStale = false;
  let isOver = false;
  const draw = async () => {
    if (timer !== null) clearTimeout(timer);
    isStale = isDrawing;
    if (isDrawing) return;
    isDrawing = true;
    const size = sizeOf(stdout);
    const frame = formatFrame(await view.draw(size), size);
    isDrawing = false;
    if (isOver) return;
    stdout.write(frame);
    timer = setTimeout(redraw, isStale ? 0 : view.intervalMs);
  };
  const redraw = () => void draw().catch(done.reject);
  const onKeys = (input: string | Uint8Array) => {
    for (const key of readKeys(String(input))) {
      if (key === "q" || key === CTRL_C) return done.resolve();
      view.key?.(key);
    }
    redraw();
  };
  const stop = () => done.resolve();
  // A crash ends the process without the `finally` below.
  const restore = () => void stdout.write(LEAVE);
  process.once("exit", restore);
  for (const signal of SIGNALS) process.once(signal, stop);
  stdout.on("resize", redraw);
  if (stdin.isTTY === true) {
    stdin.setRawMode?.(true);
    stdin.on("data", onKeys).resume();
  }
  try {
    stdout.write(ENTER);
    redraw();
    await done.promise;
  } finally {
    isOver = true;
    if (timer !== null) clearTimeout(timer);
    restore();
    process.off("exit", restore);
    for (const signal of SIGNALS) process.off(signal, stop);
    stdout.off("resize", redraw);
    if (stdin.isTTY === true) {
      stdin.off("data", onKeys).pause();
      stdin.setRawMode?.(false);
    }
  }
  return true;
}

const sizeOf = ({ columns, rows }: Terminal["stdout"]): ScreenSize => ({
  columns: columns || DEFAULT_SIZE.columns,
  rows: rows || DEFAULT_SIZE.rows,
});

/** Formats a frame that replaces the one before without flicker. */
export function formatFrame(text: string, { rows }: ScreenSize): string {
  const lines = printableLines(text).split("\n").slice(0, rows);
  return HOME + lines.map((line) => `${line}${END_OF_LINE}`).join("\r\n") + BELOW;
}

const ARROWS: Readonly<Record<string, Key>> = { A: "up", B: "down", C: "right", D: "left" };

/** Splits what a terminal sent into keys. */
export function readKeys(input: string): Key[] {
  const keys: Key[] = [];
  for (const [text, arrow] of input.matchAll(/\u001b[[O]([A-D])|\u001b\[[0-9;]*[A-Za-z~]|./gsu))
    keys.push(arrow !== undefined ? ARROWS[arrow]! : text === "\u001b" ? "escape" : text);
  return keys;
}
