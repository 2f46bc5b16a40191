import type { Redact, Redaction } from "./redact.ts";

/**
 * Redacts a text that is complete, such as a name. The rules take the end of a text for the place where it was truncated, and
 * so find the start of a secret there. The space that is added for the search tells them otherwise.
 */
export function redactWholeText(redact: Redact, text: string): Redaction {
  const redaction = redact(`${text} `);
  // A private key without its last line takes the space with it.
  return redaction.ok ? { ...redaction, text: redaction.text.replace(/ $/, "") } : redaction;
}

/** Texts that contain no secret. */
export interface CleanTexts {
  has(text: string): boolean;
  /** Does nothing if the text is too long to be kept. */
  add(text: string): void;
}

/** Creates an empty set of clean texts, so that a text that recurs is searched once. If the set is full, it is emptied. */
export function createCleanTexts(maxTexts: number, maxLength: number): CleanTexts {
  const texts = new Set<string>();
  return {
    has: (text) => texts.has(text),
    add(text) {
      if (text.length > maxLength) return;
      if (texts.size >= maxTexts) texts.clear();
      texts.add(text);
    },
  };
}
