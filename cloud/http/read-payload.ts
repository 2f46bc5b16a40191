import { type Parsed, parseWire, type WireSchema } from "../../core/wire/parse.ts";
import { readJson } from "../../core/wire/read-json.ts";
import { problem } from "./problem.ts";

/** Most bytes of a form, a sign-in or another small payload; most have a few hundred. */
export const SMALL_PAYLOAD_BYTES = 16_384;

/** A value, or the response that refuses the request. */
export type OrRefusal<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly refusal: Response };

/**
 * Reads a request's bytes up to a limit. A server ends a body at its `Content-Length`. One without it, or with `Transfer-Encoding`, is counted as
 * it arrives, through a stream, which takes more CPU time. `hold` takes memory for the bytes, or returns the refusal of the request.
 */
export async function readBytes(
  request: Request,
  maxBytes: number,
  hold: (bytes: number) => Response | null = () => null,
): Promise<OrRefusal<Uint8Array>> {
  const tooLarge = () => ({ ok: false, refusal: problem("too_large") }) as const;
  // Not a number: not stated.
  const length = Number(request.headers.get("content-length") ?? Number.NaN);
  if (length > maxBytes) return tooLarge();
  if (length >= 0 && !request.headers.has("transfer-encoding")) {
    const refusal = hold(length);
    if (refusal !== null) return { ok: false, refusal };
    const bytes = new Uint8Array(await request.arrayBuffer());
    return bytes.length > maxBytes ? tooLarge() : { ok: true, value: bytes };
  }
  if (request.body === null) return { ok: true, value: new Uint8Array(0) };
  const reader = request.body.getReader();
  const chunks: Uint8Array[] = [];
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    size += value.length;
    const refusal = size > maxBytes ? problem("too_large") : hold(value.length);
    if (refusal !== null) {
      // Not awaited: the server drops what the client still sends.
      void reader.cancel().catch(() => {});
      return { ok: false, refusal };
    }
    chunks.push(value);
  }
  const bytes = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.length;
  }
  return { ok: true, value: bytes };
}

/** Parses bytes as a payload: 400 if they are not a JSON object, 422 if it does not match the schema. */
export function readPayload<T>(bytes: Uint8Array, schema: WireSchema<T>): OrRefusal<T> {
  const json = readJson(bytes);
  if (!json.ok) {
    return { ok: false, refusal: problem(json.reason === "invalid_utf8" ? "invalid_utf8" : "not_json") };
  }
  if (typeof json.value !== "object" || json.value === null || Array.isArray(json.value)) {
    return { ok: false, refusal: problem("not_an_object") };
  }
  return refuseInvalid(parseWire(schema, json.value));
}

/** Returns a parsed value, or a 422 that lists what is wrong with it. */
export function refuseInvalid<T>(parsed: Parsed<T>): OrRefusal<T> {
  if (parsed.ok) return parsed;
  return { ok: false, refusal: problem("wrong_shape", { errors: parsed.problems }) };
}
