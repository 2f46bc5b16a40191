/** Wraps a text between words at a maximum width. Assumes one terminal cell per character. */
export const wrap = (text: string, width: number): string[] => wrapParts(text.split(" "), width);

/** Joins parts into lines of a maximum width. A part is never divided. */
export function wrapParts(parts: readonly string[], width: number, separator = " "): string[] {
  const lines: string[] = [];
  for (const part of parts) {
    const last = lines.at(-1);
    if (last === undefined || last.length + separator.length + part.length > width) lines.push(part);
    else lines[lines.length - 1] = `${last}${separator}${part}`;
  }
  return lines;
}

/** Wraps a line that may begin with a label and two or more spaces; following lines are indented to the text. */
export function wrapLine(line: string, width: number): string {
  const label = /^\S+(?: \S+)? {2,}/.exec(line)?.[0] ?? "";
  const [first = "", ...rest] = wrap(line.slice(label.length), Math.max(width - label.length, 20));
  return [label + first, ...rest.map((each) => " ".repeat(label.length) + each)].join("\n");
}
