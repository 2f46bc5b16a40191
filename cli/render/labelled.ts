import { textWidth } from "./text-width.ts";

/** Renders a text after its label, wrapped between words, with the following lines indented to the start of the text. */
export function labelled(label: string, text: string, labelWidth: number, width: number): string {
  const room = Math.max(width - labelWidth, 20);
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    if (line !== "" && textWidth(line) + 1 + textWidth(word) > room) {
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
