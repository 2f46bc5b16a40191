import { createTokenCounter } from "../../../adapters/token-counter/gpt-tokenizer.ts";
import type { Config } from "../../../core/operations/config/config.ts";
import type { TokenCounter } from "../../../core/ports/token-counter.ts";

/** The counter for estimates, which `[usage] estimate_missing` turns on and off while the daemon runs. */
export interface Estimates {
  /** Returns the counter; null if estimates are off. */
  counter(): TokenCounter | null;
  follow(config: Config): void;
}

/** Creates the estimates as the configuration has them. The counter is created when it is first needed. */
export function createEstimates(config: Config): Estimates {
  let isOn = config.usage.estimateMissing;
  let counter: TokenCounter | null = null;
  return {
    counter() {
      if (!isOn) return null;
      counter ??= createTokenCounter();
      return counter;
    },
    follow({ usage }) {
      isOn = usage.estimateMissing;
    },
  };
}
