import { Buffer } from "node:buffer";
import { answerDrafts } from "./canary-answers.rig.ts";
import { answer, ask, CRLF, type Draft, inPieces, message } from "./canary-messages.rig.ts";
import { requestDrafts } from "./canary-requests.rig.ts";
import { canary } from "./canary-search.rig.ts";

/** A request that contains a secret and some prompt text, and the provider's response. */
export interface Shape {
  readonly name: string;
  readonly host: string;
  /** The request, in the pieces in which it is written. */
  readonly request: readonly Buffer[];
  /** The response, in the same way; the provider closes the connection after it. */
  readonly reply: readonly Buffer[];
  /** Whether its text is in a body that is stored if both gates are on. */
  readonly isStored: boolean;
  /** Why redaction does not find its secret. Source: `core/privacy/redaction`, "What it can't find". */
  readonly unredacted: string | null;
}

function toShape(name: string, draft: Draft, number: number): Shape {
  const {
    host = "api.anthropic.com",
    method = "POST",
    path = "/v1/messages",
    headers = [],
    type = "application/json",
  } = draft;
  const body = Buffer.from(draft.body ?? ask("Hi"));
  const framing = draft.piece === undefined ? `Content-Length: ${body.length}` : "Transfer-Encoding: chunked";
  const head = [
    `${method} ${path} HTTP/1.1`,
    `Host: ${host}`,
    `X-Shape: ${number}`,
    "X-Meter-Project: canaries",
    ...(body.length > 0 ? [`Content-Type: ${type}`] : []),
    ...headers,
    "Connection: close",
    framing,
  ];
  const bytes = Buffer.from(`${head.join(CRLF)}${CRLF}${CRLF}`, "latin1");
  const request =
    draft.piece === undefined
      ? [Buffer.concat([bytes, body])]
      : [
          bytes,
          ...inPieces(body, draft.piece).map((chunk) =>
            Buffer.concat([Buffer.from(chunk.length.toString(16) + CRLF), chunk, Buffer.from(CRLF)]),
          ),
          Buffer.from(["0", ...(draft.trailer === undefined ? [] : [draft.trailer]), "", ""].join(CRLF)),
        ];
  const { reply = answer(200, message("Fine.")), isStored = false, unredacted = null } = draft;
  return { name, host, request, reply, isStored, unredacted };
}

/** All shapes; the canaries of each have its number. */
export const shapes: readonly Shape[] = [...requestDrafts, ...answerDrafts].map(([name, draft], number) =>
  toShape(name, draft({ secret: canary("secret", number), text: canary("text", number) }), number),
);
