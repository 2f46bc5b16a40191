import { type Cell, runTable, type Step, type Table } from "../../values/machine.ts";
import type { Millis } from "../../values/time.ts";
import { retryDelay } from "../retry/backoff-delay.ts";
import { type CloudResult, describeResult, retryAfterOf } from "../retry/cloud-result.ts";
import type { PairingEffect, PairingEvent, PairingReport } from "./pairing-events.ts";
import type { PairingState, PairingTicket } from "./pairing-state.ts";

type EventOf<K extends PairingEvent["kind"]> = Extract<PairingEvent, { readonly kind: K }>;
type PairingStep = Step<PairingState, PairingEffect>;

const noEffects: readonly PairingEffect[] = [];

/** A connect request is accepted in every state. A handshake in progress is cancelled first. */
const connectRequested: Cell<PairingState, EventOf<"connect_requested">, PairingEffect> = {
  to: { starting: "no credentials, or --force", checking: "credentials are stored" },
  run: connect,
};
const cancelRequested: Cell<PairingState, EventOf<"cancel_requested">, PairingEffect> = {
  to: { idle: "cancelled" },
  run: cancel,
};
const interrupted: Cell<PairingState, EventOf<"started">, PairingEffect> = {
  to: { failed: "interrupted by a restart" },
  run: (state) => settle(state, "failed", "interrupted by a restart: run `meter cloud connect` again"),
};

/** The row of a handshake that is settled or never started: late events are ignored. */
const settledRow = {
  started: "ignored",
  connect_requested: connectRequested,
  whoami_answered: "ignored",
  start_answered: "ignored",
  poll_due: "ignored",
  poll_answered: "ignored",
  credentials_stored: "ignored",
  cancel_requested: cancelRequested,
} as const;

/** The handshake, row by row. Source: docs/specification.md#pairing. */
export const pairingTable: Table<PairingState, PairingEvent, PairingEffect> = {
  idle: { ...settledRow, cancel_requested: "ignored" },
  checking: {
    started: interrupted,
    connect_requested: connectRequested,
    whoami_answered: {
      to: {
        connected: "200: still valid",
        starting: "401 or 403",
        failed: "no clear answer",
        checking: "earlier attempt",
      },
      run: checkCredentials,
    },
    start_answered: "ignored",
    poll_due: "ignored",
    poll_answered: "ignored",
    credentials_stored: "ignored",
    cancel_requested: cancelRequested,
  },
  starting: {
    started: interrupted,
    connect_requested: connectRequested,
    whoami_answered: "ignored",
    start_answered: {
      to: { polling: "201: a code is shown", failed: "anything else", starting: "earlier attempt" },
      run: showCode,
    },
    poll_due: "ignored",
    poll_answered: "ignored",
    credentials_stored: "ignored",
    cancel_requested: cancelRequested,
  },
  polling: {
    started: { to: { polling: "continues", expired: "code too old" }, run: poll },
    connect_requested: connectRequested,
    whoami_answered: "ignored",
    start_answered: "ignored",
    poll_due: { to: { polling: "polls again", expired: "code too old" }, run: poll },
    poll_answered: {
      to: {
        polling: "pending or transient",
        storing: "approved",
        denied: "denied",
        expired: "expired",
        failed: "failed",
      },
      run: handlePollResult,
    },
    credentials_stored: "ignored",
    cancel_requested: cancelRequested,
  },
  storing: {
    started: interrupted,
    connect_requested: connectRequested,
    whoami_answered: "ignored",
    start_answered: "ignored",
    poll_due: "ignored",
    poll_answered: "ignored",
    credentials_stored: {
      to: { approved: "token stored", storing: "earlier attempt" },
      run: (state, event) =>
        event.attempt === state.attempt
          ? settle(state, "approved", `paired with ${state.workspaceName}`)
          : ignore(state),
    },
    cancel_requested: cancelRequested,
  },
  approved: settledRow,
  connected: settledRow,
  denied: settledRow,
  expired: settledRow,
  failed: settledRow,
};

/** The pairing handshake. */
export function pairingTransition(state: PairingState, event: PairingEvent, now: Millis): PairingStep {
  return runTable(pairingTable, state, event, now);
}

function ignore(state: PairingState): PairingStep {
  return { state, effects: noEffects };
}

/**
 * Source: docs/specification.md#pairing: a new local connect request cancels a prior handshake before replacing it;
 * credentials that still authenticate are reported, unless `--force`.
 */
function connect(state: PairingState, event: EventOf<"connect_requested">): PairingStep {
  const attempt = state.attempt + 1;
  const check = event.hasCredentials && !event.force;
  return {
    state: {
      status: check ? "checking" : "starting",
      attempt,
      ticket: null,
      failures: 0,
      workspaceName: null,
      message: null,
    },
    effects: [...cancelEffects(state), { kind: check ? "request_whoami" : "start_pairing", attempt }],
  };
}

function cancel(state: PairingState): PairingStep {
  return {
    state: { ...state, status: "idle", ticket: null, failures: 0, workspaceName: null, message: null },
    effects: cancelEffects(state),
  };
}

function cancelEffects(state: PairingState): readonly PairingEffect[] {
  const inProgress = ["checking", "starting", "polling", "storing"].includes(state.status);
  return inProgress
    ? [
        { kind: "clear_timer", timer: "poll" },
        { kind: "cancel_handshake", attempt: state.attempt },
      ]
    : noEffects;
}

/**
 * Decision: only a 401 or 403 leads to a new pairing. Without a response the old key may still be valid, and a new one would
 * revoke it.
 */
function checkCredentials(state: PairingState, event: EventOf<"whoami_answered">): PairingStep {
  if (event.attempt !== state.attempt) return ignore(state);
  const { result, workspaceName } = event;
  const status = result.kind === "http" ? result.status : null;
  if (status === 200) {
    const message = `already connected to ${workspaceName ?? "the cloud"}; use --force to pair again`;
    return settle({ ...state, workspaceName }, "connected", message);
  }
  if (status === 401 || status === 403) {
    return {
      state: { ...state, status: "starting" },
      effects: [{ kind: "start_pairing", attempt: state.attempt }],
    };
  }
  const message = `the stored credentials could not be checked (${describeResult(result)}); use --force to pair again`;
  return settle(state, "failed", message);
}

function showCode(state: PairingState, event: EventOf<"start_answered">, now: Millis): PairingStep {
  if (event.attempt !== state.attempt) return ignore(state);
  const { result } = event;
  const issued = result.kind === "http" && result.status === 201 ? result.ticket : null;
  if (issued === null) return settle(state, "failed", `pairing did not start (${describeResult(result)})`);
  const { code, pollToken, verificationUrl, intervalMs } = issued;
  const ticket: PairingTicket = {
    code,
    pollToken,
    verificationUrl,
    intervalMs,
    expiresAt: now + issued.expiresInMs,
  };
  return {
    state: { ...state, status: "polling", ticket },
    effects: [
      { kind: "show_code", code, verificationUrl },
      { kind: "poll_pairing", attempt: state.attempt, pollToken },
    ],
  };
}

/**
 * Time after the code's expiry during which polling continues, milliseconds. Decision: the cloud itself reports that a code
 * has expired, and delivers a last-second approval for this long. Without a response the handshake still ends.
 */
const LAST_APPROVAL_MS = 120_000;

/** Polls again, even after a crash: the state holds the poll secret. */
function poll(state: PairingState, _: unknown, now: Millis): PairingStep {
  if (state.ticket === null || now >= state.ticket.expiresAt + LAST_APPROVAL_MS)
    return settle(state, "expired", EXPIRED);
  const { pollToken } = state.ticket;
  return { state, effects: [{ kind: "poll_pairing", attempt: state.attempt, pollToken }] };
}

const EXPIRED = "the code expired: run `meter cloud connect` again";

function handlePollResult(state: PairingState, event: EventOf<"poll_answered">): PairingStep {
  if (event.attempt !== state.attempt || state.ticket === null) return ignore(state);
  const { result } = event;
  const outcome = result.kind === "http" && result.status === 200 ? result.outcome : null;
  if (outcome === null)
    return isTransient(result) ? pollLater(state, event, state.ticket) : pollFailed(state, result);
  switch (outcome.status) {
    case "pending":
      return {
        state: { ...state, failures: 0 },
        effects: [{ kind: "set_timer", timer: "poll", delayMs: state.ticket.intervalMs }],
      };
    case "approved": {
      // Token and key are part of the effect only, since the state is saved and shown.
      const { syncToken, workspace, promptHashKey } = outcome;
      return {
        state: { ...state, status: "storing", ticket: null, workspaceName: workspace.name },
        effects: [
          {
            kind: "store_credentials",
            attempt: state.attempt,
            syncToken,
            workspaceId: workspace.id,
            workspaceName: workspace.name,
            promptHashKey,
          },
        ],
      };
    }
    case "denied":
      return settle(state, "denied", "the request was denied in the dashboard");
    case "expired":
      return settle(state, "expired", EXPIRED);
    case "failed":
      return settle(state, "failed", "pairing failed: run `meter cloud connect` again");
  }
}

/** Whether the code is still valid: timeouts, 5xx, 408, 425, 429, redirects and invalid responses are transient. */
function isTransient(result: CloudResult): boolean {
  if (result.kind === "transport") return true;
  return result.status < 400 || result.status >= 500 || [408, 425, 429].includes(result.status);
}

function pollLater(state: PairingState, event: EventOf<"poll_answered">, ticket: PairingTicket): PairingStep {
  const failures = state.failures + 1;
  const delayMs = Math.max(ticket.intervalMs, retryDelay(failures, event.random, retryAfterOf(event.result)));
  const error = describeResult(event.result);
  return {
    state: { ...state, failures },
    effects: [
      { kind: "log", level: "warn", event: "cloud.transport_error", fields: { error, retry_in_ms: delayMs } },
      { kind: "set_timer", timer: "poll", delayMs },
    ],
  };
}

function pollFailed(state: PairingState, result: CloudResult): PairingStep {
  return settle(state, "failed", `pairing failed (${describeResult(result)})`);
}

function settle(state: PairingState, status: PairingReport["status"], message: string): PairingStep {
  const { workspaceName } = state;
  return {
    state: { ...state, status, ticket: null, failures: 0, message },
    effects: [
      { kind: "clear_timer", timer: "poll" },
      { kind: "report_pairing", report: { status, workspaceName, message } },
    ],
  };
}
