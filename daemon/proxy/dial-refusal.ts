import type { Authority } from "./authority.ts";
import type { DialResult } from "./dial.ts";
import type { ForbiddenTarget } from "./forbidden-targets.ts";
import type { Refusal } from "./relay-context.ts";

/** Creates the response to a failed dial. */
export function createDialRefusal(target: Authority, failed: DialResult & { ok: false }): Refusal {
  if (failed.reason === "upstream_unreachable") {
    return { status: 502, reason: failed.reason, text: `${target.host} can't be reached (${failed.code})` };
  }
  return { status: 403, reason: failed.reason, text: forbiddenTexts[failed.code as ForbiddenTarget] };
}

/** Creates the response if the upstream's TLS failed. */
export function createTlsRefusal(target: Authority, code: string): Refusal {
  return {
    status: 502,
    reason: "upstream_tls",
    text: `no trusted TLS connection to ${target.host} (${code})`,
  };
}

const publicOnly =
  "clients on other machines can reach only public addresses; to allow more, list them in [proxy] shared_targets";

const forbiddenTexts: Readonly<Record<ForbiddenTarget, string>> = {
  own_port: "the target is one of meter's own ports",
  metadata: "meter does not connect to metadata services",
  link_local: "meter does not connect to link-local addresses",
  unspecified: "meter does not connect to the unspecified address",
  loopback: publicOnly,
  private: publicOnly,
};
