import type { Millis } from "../../values/time.ts";

/**
 * The coverage counters: what the meter saw, and what the totals lack.
 *
 * - `connections` counts connections to provider hosts. `tunnelled_*` counts those that were forwarded unread;
 *   `tunnelled_other_user` belonged to another user of the machine.
 * - `closed_unused` counts connections that were closed before their ClientHello, such as a dial that the client cancelled. They
 *   carried no call, so they do not lower the coverage.
 * - Each exchange with a provider host is counted once, as `metered`, `free` (a known path without usage), `unknown_path`,
 *   `unreadable`, `lost` (log frames were dropped), `dropped` (the record could not be stored), `websocket` (forwarded
 *   unread), `repeated` (its responses had been metered before) or `capture_failed` (the meter itself failed). In a
 *   WebSocket session that is read, each response is one exchange.
 * - `blocked` counts calls that a budget refused. They were not sent, so they do not lower the coverage.
 * - `caller_not_found` counts metered calls whose process was not found, so that their program is unknown and their project may be
 *   a fallback.
 * - `without_usage`, `usage_not_kept`, `prompt_not_kept` and `body_not_kept` are parts of `metered`: the response stated no
 *   tokens, or there was no memory for a message of the response, the prompt hash or the body. `body_*` counts bodies that
 *   capture left out.
 * - `unlisted_*` counts what happened on hosts that are not metered but look like language model APIs, by their addresses:
 *   answered calls in plain HTTP by their API, and `unlisted_tunnel` for connections to known AI services. They are no part of
 *   what was seen on providers' hosts.
 * - `unfinished` goes up when a metered exchange begins and down when it is counted as one of the others. After a daemon
 *   was killed, the rest are calls without a record.
 * - `interrupted` counts the ends of a daemon that was not stopped: a crash, a kill or a power cut. It counts no calls, so it does
 *   not lower the coverage. Calls that were answered right before may have no record and be in no other count.
 */
export const coverageKinds = [
  "connections",
  "closed_unused",
  "tunnelled_not_provider",
  "tunnelled_other_user",
  "tunnelled_http2_only",
  "tunnelled_sni_mismatch",
  "tunnelled_not_tls",
  "tunnelled_no_certificate",
  "metered",
  "free",
  "unknown_path",
  "unreadable",
  "lost",
  "dropped",
  "without_usage",
  "websocket",
  "repeated",
  "blocked",
  "capture_failed",
  "unfinished",
  "interrupted",
  "body_too_large",
  "body_not_utf8",
  "body_not_redactable",
  "body_not_kept",
  "prompt_not_kept",
  "usage_not_kept",
  "unlisted_openai",
  "unlisted_anthropic",
  "unlisted_gemini",
  "unlisted_tunnel",
  "caller_not_found",
] as const;

/** The name of a coverage counter. */
export type CoverageKind = (typeof coverageKinds)[number];

/** A coverage counter, summed over a period. */
export interface CoverageTotal {
  /**
   * The provider's host; for `unlisted_*` the address, with a port that is not the default. Null for all other hosts together,
   * whose names are not stored.
   */
  host: string | null;
  kind: CoverageKind;
  count: number;
}

/** A call that was not metered, without its ids: see `pathTemplate()`. */
export interface UnmeteredCall {
  method: string;
  path: string;
}

/** Calls or connections that were not metered, or only in part, of one kind. */
export interface CoverageGap extends CoverageTotal {
  /** Null if the kind has no request, or if there were too many different ones. */
  call: UnmeteredCall | null;
  /** The start of the quarter of an hour in which the last one was seen. */
  lastSeenAt: Millis;
}
