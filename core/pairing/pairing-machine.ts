import { type Cell, runTable, type Step, type Table } from "../machine.ts";
import { type CloudAnswer, describeAnswer, retryAfterOf, retryDelay } from "../retry/mod.ts";
import type { Millis } from "../time.ts";
import type { PairingEffect, PairingEvent, PairingReport } from "./pairing-events.ts";
import type { PairingState, PairingTicket } from "./pairing-state.ts";

type EventOf<K extends PairingEvent["kind"]> = Extract<PairingEvent, { readonly kind: K }>;
type PairingStep = Step<PairingState, PairingEffect>;

const nothing: readonly PairingEffect[] = [];

/** A connect request is taken in every state: one under way is cancelled first. */
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

/** A handshake that is over, or never began: nothing that still arrives means anything. */
const atRest = {
  started: "ignored",
  connect_requested: connectRequested,
  whoami_answered: "ignored",
  start_answered: "ignored",
  poll_due: "ignored",
  poll_answered: "ignored",
  credentials_stored: "ignored",
  cancel_requested: cancelRequested,
} as const;

/** The handshake, row by row. Source: contract, "Pairing handshake". */
export const pairingTable: Table<PairingState, PairingEvent, PairingEffect> = {
  idle: { ...atRest, cancel_requested: "ignored" },
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
      run: judgeCredentials,
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
    started: { to: { polling: "goes on", expired: "code too old" }, run: poll },
    connect_requested: connectRequested,
    whoami_answered: "ignored",
    start_answered: "ignored",
    poll_due: { to: { polling: "asked again", expired: "code too old" }, run: poll },
    poll_answered: {
      to: {
        polling: "pending or transient",
        storing: "approved",
        denied: "denied",
        expired: "expired",
        failed: "failed",
      },
      run: takePoll,
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
  approved: atRest,
  connected: atRest,
  denied: atRest,
  expired: atRest,
  failed: atRest,
};

/** The pairing handshake. */
export function pairingTransition(state: PairingState, event: PairingEvent, now: Millis): PairingStep {
  return runTable(pairingTable, state, event, now);
}

function ignore(state: PairingState): PairingStep {
  return { state, effects: nothing };
}

/**
 * Source: contract, "Pairing handshake": a new local connect request cancels a prior handshake before replacing it;
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
    effects: [...cancelEffects(state), { kind: check ? "ask_whoami" : "start_pairing", attempt }],
  };
}

function cancel(state: PairingState): PairingStep {
  return {
    state: { ...state, status: "idle", ticket: null, failures: 0, workspaceName: null, message: null },
    effects: cancelEffects(state),
  };
}

function cancelEffects(state: PairingState): readonly PairingEffect[] {
  const underWay = ["checking", "starting", "polling", "storing"].includes(state.status);
  return underWay
    ? [
        { kind: "clear_timer", timer: "poll" },
        { kind: "cancel_handshake", attempt: state.attempt },
      ]
    : nothing;
}

/**
 * Decision: only a clear 401 or 403 leads to a new pairing. Without an answer the old key may still be good, and
 * minting a new one would revoke it.
 */
function judgeCredentials(state: PairingState, event: EventOf<"whoami_answered">): PairingStep {
  if (event.attempt !== state.attempt) return ignore(state);
  const { answer, workspaceName } = event;
  const status = answer.kind === "http" ? answer.status : null;
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
  const message = `the stored credentials could not be checked (${describeAnswer(answer)}); use --force to pair again`;
  return settle(state, "failed", message);
}

function showCode(state: PairingState, event: EventOf<"start_answered">, now: Millis): PairingStep {
  if (event.attempt !== state.attempt) return ignore(state);
  const { answer } = event;
  const offered = answer.kind === "http" && answer.status === 201 ? answer.ticket : null;
  if (offered === null) return settle(state, "failed", `pairing did not start (${describeAnswer(answer)})`);
  const { code, pollToken, verificationUrl, intervalMs } = offered;
  const ticket: PairingTicket = {
    code,
    pollToken,
    verificationUrl,
    intervalMs,
    expiresAt: now + offered.expiresInMs,
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
 * How long the cloud is asked beyond the code's time, milliseconds. Decision: it says itself that a code has expired, and
 * hands an approval of the last second out for so long; without an answer the handshake still ends.
 */
const LAST_APPROVAL_MS = 120_000;

/** Asks again, also after a crash: the poll secret was kept. */
function poll(state: PairingState, _: unknown, now: Millis): PairingStep {
  if (state.ticket === null || now >= state.ticket.expiresAt + LAST_APPROVAL_MS)
    return settle(state, "expired", EXPIRED);
  const { pollToken } = state.ticket;
  return { state, effects: [{ kind: "poll_pairing", attempt: state.attempt, pollToken }] };
}

const EXPIRED = "the code expired: run `meter cloud connect` again";

function takePoll(state: PairingState, event: EventOf<"poll_answered">): PairingStep {
  if (event.attempt !== state.attempt || state.ticket === null) return ignore(state);
  const { answer } = event;
  const result = answer.kind === "http" && answer.status === 200 ? answer.result : null;
  if (result === null)
    return isTransient(answer) ? pollLater(state, event, state.ticket) : pollFailed(state, answer);
  switch (result.status) {
    case "pending":
      return {
        state: { ...state, failures: 0 },
        effects: [{ kind: "set_timer", timer: "poll", delayMs: state.ticket.intervalMs }],
      };
    case "approved": {
      // The token goes into the effect alone, never into the state: a state is saved and shown.
      const { syncToken, workspace } = result;
      return {
        state: { ...state, status: "storing", ticket: null, workspaceName: workspace.name },
        effects: [
          {
            kind: "store_credentials",
            attempt: state.attempt,
            syncToken,
            workspaceId: workspace.id,
            workspaceName: workspace.name,
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

/** Timeouts, 5xx, 408, 425, 429, redirects and answers that could not be read: the code is still good. */
function isTransient(answer: CloudAnswer): boolean {
  if (answer.kind === "transport") return true;
  return answer.status < 400 || answer.status >= 500 || [408, 425, 429].includes(answer.status);
}

function pollLater(state: PairingState, event: EventOf<"poll_answered">, ticket: PairingTicket): PairingStep {
  const failures = state.failures + 1;
  const delayMs = Math.max(ticket.intervalMs, retryDelay(failures, event.random, retryAfterOf(event.answer)));
  const error = describeAnswer(event.answer);
  return {
    state: { ...state, failures },
    effects: [
      { kind: "log", level: "warn", event: "cloud.transport_error", fields: { error, retry_in_ms: delayMs } },
      { kind: "set_timer", timer: "poll", delayMs },
    ],
  };
}

function pollFailed(state: PairingState, answer: CloudAnswer): PairingStep {
  return settle(state, "failed", `pairing failed (${describeAnswer(answer)})`);
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
