import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { rmSync } from "node:fs";
import { join } from "node:path";
import * as v from "valibot";
import { readSmallFile } from "../../adapters/files/read-small-file.ts";
import { writeFileAtomic } from "../../adapters/files/write-file-atomic.ts";
import { requestLoopback } from "../../adapters/http/request-loopback.ts";
import { serve } from "../../adapters/http/serve.ts";
import { CommandFailure } from "../program/exit-codes.ts";
import { version } from "../program/version.ts";
import {
  ADMINISTRATION,
  type AdministrationInput,
  type AdministrationName,
  type AdministrationParts,
  type AdministrationResult,
  administer,
} from "./administration.ts";
import { describeDatabaseError } from "./open-cloud-database.ts";

/** A table of published rates is the largest input. */
const MAX_INPUT_BYTES = 16 * 1024 * 1024;

const MAX_FILE_BYTES = 4_096;

const fileSchema = v.pipe(
  v.string(),
  v.parseJson(),
  v.object({ version: v.string(), port: v.number(), secret: v.string() }),
);

const inputSchema = v.pipe(
  v.string(),
  v.parseJson(),
  v.object({
    name: v.picklist(Object.keys(ADMINISTRATION) as AdministrationName[]),
    input: v.looseObject({}),
  }),
);

const answerSchema = v.variant("ok", [
  v.object({ ok: v.literal(true), result: v.unknown() }),
  v.object({ ok: v.literal(false), message: v.string() }),
]);

const controlFile = (folder: string) => join(folder, "control.json");

/** The server's end of the channel. */
export interface ControlChannel {
  close(): Promise<void>;
}

/**
 * Runs operator commands for other processes of this user while this one has the embedded database open. Listens on the
 * loopback interface and authenticates with the secret in `control.json` in the database's folder (mode 0600). It has a
 * separate port, so that a reverse proxy in front of the server never reaches it.
 */
export async function openControlChannel(
  folder: string,
  parts: AdministrationParts,
): Promise<ControlChannel> {
  const secret = randomBytes(32).toString("base64url");
  const served = await serve(
    (request) => answer(request, secret, parts),
    { host: "127.0.0.1", port: 0 },
    { limits: { maxConnections: 16 } },
  );
  writeFileAtomic(controlFile(folder), `${JSON.stringify({ version, port: served.port, secret })}\n`, {
    mode: 0o600,
  });
  return {
    async close() {
      rmSync(controlFile(folder), { force: true });
      await served.close(5_000);
    },
  };
}

const digest = (text: string) => createHash("sha256").update(text).digest();

async function answer(request: Request, secret: string, parts: AdministrationParts): Promise<Response> {
  const given = request.headers.get("authorization") ?? "";
  if (!timingSafeEqual(digest(given), digest(`Bearer ${secret}`))) return new Response(null, { status: 404 });
  if (Number(request.headers.get("content-length") ?? Number.NaN) > MAX_INPUT_BYTES) {
    return new Response(null, { status: 413 });
  }
  const parsed = v.safeParse(inputSchema, await request.text());
  if (!parsed.success) return new Response(null, { status: 422 });
  const { name, input } = parsed.output;
  try {
    // The caller holds the secret and is the same version of this program, so the input has the right type.
    const result = await administer(parts, name, input as AdministrationInput<typeof name>);
    return Response.json({ ok: true, result: result ?? null });
  } catch (cause) {
    const failure = describeDatabaseError(cause);
    return Response.json({
      ok: false,
      message: failure instanceof Error ? failure.message : String(failure),
    });
  }
}

/** Has the server that has the database in a folder open run a task; null if no server answers. */
export async function requestFromServer<Name extends AdministrationName>(
  folder: string,
  name: Name,
  input: AdministrationInput<Name>,
): Promise<{ readonly result: AdministrationResult<Name> } | null> {
  const file = await readSmallFile(controlFile(folder), { maxBytes: MAX_FILE_BYTES });
  const control = file.ok ? v.safeParse(fileSchema, file.text) : null;
  if (control?.success !== true) return null;
  const { port, secret } = control.output;
  if (control.output.version !== version) {
    throw new CommandFailure(
      `The running server is version ${control.output.version}, and this program is version ${version}. Restart the server, then run this command again.`,
    );
  }
  const answered = await post(port, secret, { name, input });
  if (answered === null) return null;
  if (!answered.ok) throw new CommandFailure(answered.message);
  return { result: answered.result as AdministrationResult<Name> };
}

/** Sends a task to the server. Null if nothing answers, or another program, which took the port after the server was killed. */
async function post(port: number, secret: string, body: unknown) {
  const response = await requestLoopback({
    ...{ host: "127.0.0.1", port, path: "/", method: "POST", token: secret, body: JSON.stringify(body) },
    // A task such as a backup may take hours.
    timeoutMs: null,
  }).catch(() => null);
  const parsed = v.safeParse(v.pipe(v.string(), v.parseJson(), answerSchema), response?.body);
  return response?.status === 200 && parsed.success ? parsed.output : null;
}
