import type { CloudCredentials } from "../../core/ports/cloud-credentials.ts";
import type { CloudAnswer } from "../../core/retry/mod.ts";
import { type Whoami, whoamiSchema } from "../../core/wire/mod.ts";
import { askCloud, problemCode, readAnswer, withoutBody } from "./connection.ts";
import type { CloudServicePorts } from "./ports.ts";

/** The answer to whoami as the machines take it, with what it said. */
export interface WhoamiAnswer {
  /** A 200 that is no whoami is `invalid_answer`. */
  readonly answer: CloudAnswer;
  readonly whoami: Whoami | null;
  readonly code: string | null;
}

/** Asks whom the stored key stands for. */
export async function askWhoami(
  ports: Pick<CloudServicePorts, "client">,
  credentials: CloudCredentials,
): Promise<WhoamiAnswer> {
  const reply = await askCloud(ports, credentials, "/v1/daemon/whoami", { timeoutMs: 30_000 });
  if (reply.kind !== "http" || reply.status !== 200) {
    return { answer: withoutBody(reply), whoami: null, code: problemCode(reply) };
  }
  const whoami = readAnswer(reply, whoamiSchema);
  if (whoami !== null) return { answer: withoutBody(reply), whoami, code: null };
  return { answer: { kind: "transport", reason: "invalid_answer" }, whoami: null, code: null };
}
