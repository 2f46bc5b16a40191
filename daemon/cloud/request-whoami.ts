import type { CloudResult } from "../../core/delivery/retry/cloud-result.ts";
import type { CloudCredentials } from "../../core/ports/cloud-credentials.ts";
import { type Whoami, whoamiSchema } from "../../core/wire/daemon.ts";
import { parseResponse, readProblemCode, requestCloud, withoutBody } from "./connection.ts";
import type { CloudServicePorts } from "./ports.ts";

/** The result of a whoami request, in the form that the state machines expect, and its content. */
interface WhoamiResponse {
  /** `invalid_answer` if the response is 200 but not a valid whoami. */
  readonly result: CloudResult;
  readonly whoami: Whoami | null;
  readonly code: string | null;
}

/** Requests the identity of the stored key. */
export async function requestWhoami(
  ports: Pick<CloudServicePorts, "client">,
  credentials: CloudCredentials,
): Promise<WhoamiResponse> {
  const response = await requestCloud(ports, credentials, "/v1/daemon/whoami", { timeoutMs: 30_000 });
  if (response.kind !== "http" || response.status !== 200) {
    return { result: withoutBody(response), whoami: null, code: readProblemCode(response) };
  }
  const whoami = parseResponse(response, whoamiSchema);
  if (whoami !== null) return { result: withoutBody(response), whoami, code: null };
  return { result: { kind: "transport", reason: "invalid_answer" }, whoami: null, code: null };
}
