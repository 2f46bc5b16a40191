import stringWidth from "string-width";

/** A text behind its label, broken between words, each further line as far in as the text begins. */
export function labelled(label: string, text: string, labelWidth: number, width: number): string {
  const room = Math.max(width - labelWidth, 20);
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    if (line !== "" && stringWidth(line) + 1 + stringWidth(word) > room) {
      lines.push(line);
      line = word;
    } else line = line === "" ? word : `${line} ${word}`;
  }
  lines.push(line);
  return lines
    .map((each, index) =>
      `${index === 0 ? label.padEnd(labelWidth) : " ".repeat(labelWidth)}${each}`.trimEnd(),
    )
    .join("\n");
}
