import { type HeaderList, headerValue } from "../../metering/exchange/head.ts";

/** The program that made a refused call, as far as it decides the form of the refusal. */
export interface RefusedClient {
  readonly headers: HeaderList;
  /** The program's name from its process; null if it is unknown. */
  readonly program: string | null;
}

/**
 * Clients that repeat a call after a 429, or wait as long as `retry-after` says, whatever else the answer says. They stop at 400
 * and show the message. Sources: their code, 2026-11; docs/budgets.md has what each printed.
 */
const STOPS_AT_400_ONLY: RegExp = new RegExp(
  [
    "^codex[_ /-]",
    "^opencode/",
    // The Vercel AI SDK, on which many agents are built. A stream has only its provider: `ai-sdk-anthropic/4.0.105`.
    "(?:^|\\s)ai(?:-sdk[a-z-]*)?/",
    "^litellm/",
    "^(?:roo-?code|kilo-code|cline|qwencode|goose|zed|continue)/",
    "^(?:charm[- ])?crush/",
    "^(?:github)?copilot",
  ].join("|"),
  "i",
);

/** Programs whose `User-Agent` is only their SDK's. */
const PROGRAMS_THAT_STOP_AT_400 = new Set([
  "pi",
  "aider",
  "cline",
  "roo",
  "kilo",
  "opencode",
  "codex",
  "qwen",
]);

/** Whether only a 400 makes the client stop. */
export function stopsAt400Only({ headers, program }: RefusedClient): boolean {
  const userAgent = headerValue(headers, "user-agent") ?? "";
  // pi sends the `User-Agent` of Claude Code with a Claude login, but no session.
  if (/^claude-(?:cli|code)\//i.test(userAgent))
    return headerValue(headers, "x-claude-code-session-id") === null;
  if (STOPS_AT_400_ONLY.test(userAgent)) return true;
  return program !== null && PROGRAMS_THAT_STOP_AT_400.has(program.toLowerCase());
}
