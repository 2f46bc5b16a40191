import { setImmediate } from "node:timers/promises";
import type { TokenCounter } from "../../core/ports/token-counter.ts";

/**
 * Maximum length of the text that is counted, in UTF-16 code units. The rest is estimated with the same ratio. Decision:
 * about ten books' pages give a good ratio and limit the work to about 10 ms.
 */
export const MAX_COUNTED_UNITS = 200_000;

/** Text is counted in pieces of this length, because the time for one long word grows with its square. */
const PIECE_UNITS = 1024;

/** Number of pieces that are counted before other work can run. */
const PIECES_PER_TURN = 32;

type Count = (text: string, options: { disallowedSpecial: Set<string> }) => number;

/** Treats special tokens in a prompt, such as `<|endoftext|>`, as text. By default, the tokenizer rejects them. */
const asText = { disallowedSpecial: new Set<string>() };

/** Models with OpenAI's older encoding. */
const OLDER_MODELS = /^(gpt-3\.5|gpt-4($|-(?!o))|text-embedding|davinci|babbage)/;

/**
 * Creates a counter on `gpt-tokenizer`. Its tables (4 MB on disk, 80 MB in memory) are loaded at the first call. Models of
 * other companies are counted like OpenAI's newest ones; Claude uses slightly more tokens.
 */
export function createTokenCounter(): TokenCounter {
  let newer: Promise<Count> | null = null;
  let older: Promise<Count> | null = null;
  const encoderFor = (model: string): Promise<Count> => {
    if (OLDER_MODELS.test(model)) {
      older ??= import("gpt-tokenizer/encoding/cl100k_base").then(({ countTokens }) => countTokens);
      return older;
    }
    newer ??= import("gpt-tokenizer/encoding/o200k_base").then(({ countTokens }) => countTokens);
    return newer;
  };
  return {
    async count(texts, model) {
      try {
        const count = await encoderFor(model);
        const totalUnits = texts.reduce((sum, text) => sum + text.length, 0);
        let counted = 0;
        let tokens = 0;
        let pieces = 0;
        for (const text of texts) {
          for (let at = 0; at < text.length && counted < MAX_COUNTED_UNITS; at += PIECE_UNITS) {
            const piece = text.slice(at, at + PIECE_UNITS);
            tokens += count(piece, asText);
            counted += piece.length;
            if (++pieces % PIECES_PER_TURN === 0) await setImmediate();
          }
        }
        return counted === 0 ? 0 : Math.round((tokens / counted) * totalUnits);
      } catch {
        return null;
      }
    },
  };
}
