import { type Parsed, parseWire, readJson, type WireSchema } from "../core/wire/mod.ts";
import { problem } from "./errors.ts";

/** Most bytes of a form, a sign-in or any other small payload: a few hundred are usual. */
export const SMALL_PAYLOAD_BYTES = 16_384;

/** A value, or the answer that refuses it. */
export type Reading<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly refusal: Response };

/**
 * Reads a request's bytes up to a limit. Counted as they come, since a length can be missing or wrong; the rest is not
 * read.
 */
export async function readBytes(request: Request, maxBytes: number): Promise<Reading<Uint8Array>> {
  const tooLarge = () => ({ ok: false, refusal: problem("too_large") }) as const;
  if (Number(request.headers.get("content-length") ?? 0) > maxBytes) return tooLarge();
  if (request.body === null) return { ok: true, value: new Uint8Array(0) };
  const reader = request.body.getReader();
  const chunks: Uint8Array[] = [];
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    size += value.length;
    if (size > maxBytes) {
      // What the client goes on sending is the server's to drop: waiting for it would be reading it.
      void reader.cancel().catch(() => {});
      return tooLarge();
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

/** Reads bytes as a payload: 400 for what is no JSON object, 422 for one of another shape. */
export function readPayload<T>(bytes: Uint8Array, schema: WireSchema<T>): Reading<T> {
  const json = readJson(bytes);
  if (!json.ok) {
    return { ok: false, refusal: problem(json.reason === "invalid_utf8" ? "invalid_utf8" : "not_json") };
  }
  if (typeof json.value !== "object" || json.value === null || Array.isArray(json.value)) {
    return { ok: false, refusal: problem("not_an_object") };
  }
  return orRefusal(parseWire(schema, json.value));
}

/** A parsed payload, or the 422 that names its faults. */
export function orRefusal<T>(parsed: Parsed<T>): Reading<T> {
  if (parsed.ok) return parsed;
  return { ok: false, refusal: problem("wrong_shape", { errors: parsed.problems }) };
}

/** Reads a small request as a payload: bytes up to a limit, then JSON, then its shape. */
export async function readSmallPayload<T>(request: Request, schema: WireSchema<T>): Promise<Reading<T>> {
  const bytes = await readBytes(request, SMALL_PAYLOAD_BYTES);
  return bytes.ok ? readPayload(bytes.value, schema) : bytes;
}
