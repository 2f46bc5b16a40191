/** A text in lines of at most so many characters, broken between words. For text of one cell a character. */
export function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const last = lines.at(-1);
    if (last === undefined || last.length + 1 + word.length > width) lines.push(word);
    else lines[lines.length - 1] = `${last} ${word}`;
  }
  return lines;
}

/** A line that may begin with a label and two spaces or more: what does not fit stands below the text. */
export function wrapLine(line: string, width: number): string {
  const label = /^\S+(?: \S+)? {2,}/.exec(line)?.[0] ?? "";
  const [first = "", ...rest] = wrap(line.slice(label.length), Math.max(width - label.length, 20));
  return [label + first, ...rest.map((each) => " ".repeat(label.length) + each)].join("\n");
}
