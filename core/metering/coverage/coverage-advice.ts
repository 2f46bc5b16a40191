import type { CoverageKind } from "./coverage-kinds.ts";

/** What a kind of coverage means for the totals, and what to do about it. */
export interface CoverageAdvice {
  readonly meaning: string;
  readonly fix: string;
  /** A command that fixes it, or shows more; null if there is none. */
  readonly command: string | null;
}

const noCommand = { command: null };
const report = {
  fix: "If the provider bills them, report the path, so that the meter learns it. A newer version may know it.",
  ...noCommand,
};

/** The advice for every kind that is a gap in the metering. */
const advice: Readonly<Partial<Record<CoverageKind, CoverageAdvice>>> = {
  tunnelled_http2_only: {
    meaning:
      "The client offered only HTTP/2, which the meter does not read. The calls worked and are in no total.",
    fix: "Let the client speak HTTP/1.1 (Go: GODEBUG=http2client=0), or use the gateway as its base URL.",
    ...noCommand,
  },
  tunnelled_sni_mismatch: {
    meaning:
      "The client named one host to the proxy, and another or none in TLS. The calls worked and are in no total.",
    fix: "Set the provider's own host as the client's base URL, or use the gateway.",
    ...noCommand,
  },
  tunnelled_not_tls: {
    meaning: "The client sent something other than TLS to a provider's port.",
    fix: "Use an https:// base URL.",
    ...noCommand,
  },
  tunnelled_no_certificate: {
    meaning:
      "An update or the configuration added these hosts, and programs trust a certificate that does not cover them, or the proxy had hung too often to read them. The calls worked and are in no total.",
    fix: "Renew the certificate:",
    command: "meter init --yes",
  },
  unknown_path: {
    meaning: "The meter does not know these paths, so it cannot tell whether they are billed.",
    ...report,
  },
  websocket: {
    meaning: "The sessions use an extension that the meter cannot read. Their tokens are in no total.",
    fix: "Switch off unusual WebSocket extensions in the client, or use the HTTP API.",
    ...noCommand,
  },
  unreadable: {
    meaning: "Two programs could read this HTTP differently, so the meter reads none of it.",
    fix: "The log has the reason of each (capture.unreadable). Update the client.",
    command: "meter status",
  },
  lost: {
    meaning:
      "The machine was too busy to read a copy of the bytes in time. The calls themselves were not delayed.",
    fix: "Give the machine more processor time, or make fewer calls at once.",
    ...noCommand,
  },
  dropped: {
    meaning: "The database refused the records.",
    fix: "Find out why:",
    command: "meter doctor",
  },
  capture_failed: {
    meaning: "The meter itself failed on these calls. This is a fault of the meter.",
    fix: "The log has the error of each (capture.failed). Report it.",
    ...noCommand,
  },
  unfinished: {
    meaning: "The calls are in progress, or were cut off when the daemon was killed.",
    fix: "Stop the daemon so that calls can end:",
    command: "meter stop",
  },
  interrupted: {
    meaning:
      "The daemon crashed or was killed, or the power failed. Calls in flight count as unfinished. Calls that were answered within the half second before, and after a power cut within the last seconds, may have no record and be in no count.",
    fix: "The agents' own logs may have these calls:",
    command: "meter reconcile logs",
  },
  without_usage: {
    meaning: "The provider stated no tokens, so tokens and cost are unknown.",
    fix: "Let the client ask for them (OpenAI streams: stream_options.include_usage). Or estimate them from the text:",
    command: "meter estimates on",
  },
  usage_not_kept: {
    meaning: "Too many large responses arrived at once to hold their usage in memory.",
    fix: "Make fewer large calls at once.",
    ...noCommand,
  },
  prompt_not_kept: {
    meaning:
      "Too many large requests were sent at once to hash their prompts. Tokens and costs are complete.",
    fix: "Nothing is missing from the totals.",
    ...noCommand,
  },
  caller_not_found: {
    meaning:
      "The programs had exited, run on another machine, or belong to another user. Tokens and costs are complete.",
    fix: "Name the project, which then needs no lookup:",
    command: "meter run --project <name> -- <command>",
  },
  body_not_kept: {
    meaning: "Too many large bodies were captured at once. Tokens and costs are complete.",
    fix: "Nothing is missing from the totals.",
    ...noCommand,
  },
};

/** Returns the advice for a kind; null if the kind is no gap. */
export function adviseOnCoverage(kind: CoverageKind): CoverageAdvice | null {
  return advice[kind] ?? null;
}

/** The kinds that have advice. */
export const coverageGapKinds = Object.keys(advice) as CoverageKind[];
