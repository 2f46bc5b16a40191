import { wrap } from "./wrap.ts";

/** Stands for a space that must not end a line. */
const HELD = "\u0000";

/** A command's usage as the parser says it: a needed option without its brackets, in lines of so many characters. */
export function usageLine(text: string, width: number): string {
  const [start = "", ...rest] = wrap(
    text
      .replaceAll(/<(--\S+) <value>>/g, `$1${HELD}<value>`)
      .replaceAll(/\[(--\S+) <value>\]/g, `[$1${HELD}<value>]`),
    width,
  );
  return [start, ...rest.map((line) => `    ${line}`)].join("\n").replaceAll(HELD, " ");
}
