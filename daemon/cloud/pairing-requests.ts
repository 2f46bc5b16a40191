import type { PairingEvent } from "../../core/delivery/pairing/pairing-events.ts";
import {
  type PairingStartRequest,
  pairingPollResponseSchema,
  pairingStartResponseSchema,
} from "../../core/wire/pairing.ts";
import { parseResponse, requestWithoutToken } from "./connection.ts";
import type { CloudServicePorts } from "./ports.ts";
import { requestWhoami } from "./request-whoami.ts";

/** How long to wait for the start of a handshake, in milliseconds. */
const START_TIMEOUT_MS = 30_000;

/** How long to wait for a poll, in milliseconds: the cloud answers within 25 s. */
const POLL_TIMEOUT_MS = 45_000;

/** The result if the cloud's address is not known. */
const unreachable = { kind: "transport", reason: "aborted" } as const;

/** One attempt of a handshake. */
export interface PairingAttempt {
  readonly attempt: number;
  /** The cloud's address, or null if it is not known. */
  readonly baseUrl: string | null;
  /** Ends the requests of the attempt. */
  readonly cancelled: Promise<void>;
}

/** Checks with the cloud whether the stored credentials are valid. Without credentials the result is 401. */
export async function checkCredentials(ports: CloudServicePorts, attempt: number): Promise<PairingEvent> {
  const credentials = await ports.credentials.read().catch(() => null);
  if (credentials === null) {
    const result = { kind: "http", status: 401, retryAfterMs: null } as const;
    return { kind: "whoami_answered", attempt, result, workspaceName: null };
  }
  const { result, whoami } = await requestWhoami(ports, credentials);
  if (whoami !== null)
    ports.store.delivery.updateState("cloud_state", { last_connected_at: ports.clock.now() });
  return { kind: "whoami_answered", attempt, result, workspaceName: whoami?.workspace.name ?? null };
}

/** Starts a handshake: requests a code. */
export async function requestPairingStart(
  ports: CloudServicePorts,
  { attempt, baseUrl, cancelled }: PairingAttempt,
): Promise<PairingEvent> {
  if (baseUrl === null) return { kind: "start_answered", attempt, result: unreachable };
  const start: PairingStartRequest = {
    fingerprint: await ports.machine.fingerprint(),
    hostname: ports.machine.hostname,
    platform: ports.machine.platform,
    daemon_version: ports.version,
  };
  const reply = await requestWithoutToken(ports, `${baseUrl}/v1/pairing/start`, {
    method: "POST",
    body: JSON.stringify(start),
    timeoutMs: START_TIMEOUT_MS,
    cancelled,
  });
  if (reply.kind === "transport") return { kind: "start_answered", attempt, result: reply };
  const ticket = reply.status === 201 ? parseResponse(reply, pairingStartResponseSchema) : null;
  const result = { kind: "http", status: reply.status, retryAfterMs: reply.retryAfterMs } as const;
  // A person sees the address and a browser opens it, so it must be a web address.
  if (ticket === null || !isWebAddress(ticket.verification_url)) {
    return { kind: "start_answered", attempt, result: { ...result, ticket: null } };
  }
  return {
    kind: "start_answered",
    attempt,
    result: {
      ...result,
      ticket: {
        code: ticket.code,
        pollToken: ticket.poll_token,
        verificationUrl: ticket.verification_url,
        expiresInMs: ticket.expires_in * 1000,
        intervalMs: ticket.interval * 1000,
      },
    },
  };
}

/** Requests whether the code was approved. */
export async function requestPairingPoll(
  ports: CloudServicePorts,
  { attempt, baseUrl, cancelled }: PairingAttempt,
  pollToken: string,
): Promise<PairingEvent> {
  const event = { kind: "poll_answered", attempt, random: ports.random() } as const;
  if (baseUrl === null) return { ...event, result: unreachable };
  const reply = await requestWithoutToken(ports, `${baseUrl}/v1/pairing/poll`, {
    method: "POST",
    body: JSON.stringify({ poll_token: pollToken }),
    timeoutMs: POLL_TIMEOUT_MS,
    cancelled,
  });
  if (reply.kind === "transport") return { ...event, result: reply };
  const found = reply.status === 200 ? parseResponse(reply, pairingPollResponseSchema) : null;
  const result = { kind: "http", status: reply.status, retryAfterMs: reply.retryAfterMs } as const;
  if (found === null) return { ...event, result: { ...result, outcome: null } };
  const outcome =
    found.status === "approved"
      ? {
          status: found.status,
          syncToken: found.sync_token,
          workspace: found.workspace,
          promptHashKey: found.prompt_hash_key,
        }
      : found;
  return { ...event, result: { ...result, outcome } };
}

function isWebAddress(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
}
