/**
 * The pairing handshake as a machine: check stored credentials, get a code, poll until it is approved, store the token.
 * A new request cancels the one before it, and answers that belong to that one are dropped.
 *
 * ```ts
 * import { initialPairingState, pairingTransition } from "./mod.ts";
 *
 * const request = { kind: "connect_requested", hasCredentials: true, force: false } as const;
 * const { state, effects } = pairingTransition(initialPairingState, request, Date.UTC(2026, 0, 1));
 * state.status; // "checking"
 * effects; // [{ kind: "ask_whoami", attempt: 1 }]
 * ```
 *
 * @module
 */
export type {
  PairingEffect,
  PairingEvent,
  PairingReport,
  PollAnswer,
  PollResult,
  StartAnswer,
} from "./pairing-events.ts";
export { pairingTable, pairingTransition } from "./pairing-machine.ts";
export {
  initialPairingState,
  type PairingState,
  type PairingStatus,
  type PairingTicket,
} from "./pairing-state.ts";
