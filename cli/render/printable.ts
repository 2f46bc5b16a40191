/** Characters that control a terminal: control characters, line separators and bidirectional overrides. */
const STEERING = "\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029\\u202a-\\u202e\\u2066-\\u2069";

const steering = new RegExp(`[${STEERING}]`, "g");
/** The same characters without tabs and newlines. */
const steeringInLines = new RegExp(`(?![\\t\\n])[${STEERING}]`, "g");

/** Replaces characters that control a terminal. For a single line, such as a name. */
export function printable(text: string): string {
  return text.replaceAll(steering, "\ufffd");
}

/** Replaces characters that control a terminal, and keeps tabs and newlines. */
export function printableLines(text: string): string {
  return text.replaceAll(steeringInLines, "\ufffd");
}

/** Escapes characters that control a terminal in JSON text; `JSON.stringify` does not escape those above U+007E. */
export function printableJson(json: string): string {
  return json.replaceAll(
    steeringInLines,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
