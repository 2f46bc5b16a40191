/** What steers a terminal: control characters, which move the cursor or change colours, and what turns the writing round. */
const STEERING = "\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029\\u202a-\\u202e\\u2066-\\u2069";

const steering = new RegExp(`[${STEERING}]`, "g");
/** The same without tabs and ends of lines. */
const steeringInLines = new RegExp(`(?![\\t\\n])[${STEERING}]`, "g");

/** What steers a terminal becomes a visible stand-in: for one line, such as somebody's name for something. */
export function printable(text: string): string {
  return text.replaceAll(steering, "\ufffd");
}

/** The same for text of several lines, of whose parts some may be others' words. */
export function printableLines(text: string): string {
  return text.replaceAll(steeringInLines, "\ufffd");
}

/** JSON that means the same and steers no terminal: `JSON.stringify` leaves what is above U+007E as it is. */
export function printableJson(json: string): string {
  return json.replaceAll(
    steeringInLines,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
