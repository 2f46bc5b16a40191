import { existsSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import * as v from "valibot";
import type {
  CloudCredentials,
  CredentialFile,
  CredentialStore,
} from "../../core/ports/cloud-credentials.ts";
import { readSmallFile } from "../files/read-small-file.ts";
import { writeFileAtomic } from "../files/write-file-atomic.ts";
import { waitForLock } from "../lock/exclusive-lock.ts";
import { createSqliteOpener } from "../sqlite/open-sqlite.ts";
import { createSecretBox } from "./secret-box.ts";

/** The credentials' file in the meter's home. Source: docs/specification.md#cloud-accounts-and-keys, item 2. */
export const CREDENTIALS_FILE = "cloud-credentials.json";

/** The key file of the encrypted copy, in the meter's home. */
export const CREDENTIALS_KEY_FILE = "cloud-credentials.key";

const LOCK_FILE = "cloud-credentials.lock";

/** How long other work may hold the lock, in milliseconds. It takes milliseconds. */
const LOCK_TIMEOUT_MS = 5_000;

const fileSchema = v.object({
  token: v.pipe(v.string(), v.regex(/^[\x21-\x7e]{8,512}$/)),
  origin: v.pipe(v.string(), v.regex(/^https?:\/\/[^/\s?#@]+$/)),
  base_url: v.string(),
  workspace_id: v.string(),
  workspace_name: v.string(),
  machine_id: v.nullable(v.string()),
  // Absent from files of 0.4.0.
  prompt_hash_key: v.nullish(v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/)), null),
  created_at: v.string(),
});

/**
 * Thrown if credentials exist but cannot be trusted or read. The message names the file and the reason, but none of its
 * contents.
 */
export class CredentialsError extends Error {
  override readonly name = "CredentialsError";
  /** Whether the file contains no credentials. Otherwise, other users could read it or have created it. */
  readonly damaged: boolean;

  constructor(message: string, damaged: boolean) {
    super(message);
    this.damaged = damaged;
  }
}

/** Creates the credential store of a home: `cloud-credentials.json`, mode 0600, replaced atomically. */
export function createCredentialStore(home: string): CredentialStore {
  const file = createCredentialFile(home);
  return {
    ...file,
    async exclusively(work) {
      const lock = await waitForLock(createSqliteOpener(), join(home, LOCK_FILE), LOCK_TIMEOUT_MS);
      if (lock === null) throw new Error("another process changes the stored cloud credentials");
      try {
        return await work(file);
      } finally {
        lock.release();
      }
    },
  };
}

function createCredentialFile(home: string): CredentialFile {
  const path = join(home, CREDENTIALS_FILE);
  const keyFile = join(home, CREDENTIALS_KEY_FILE);
  const box = createSecretBox(keyFile);

  return {
    async read() {
      const file = await readSmallFile(path, { maxBytes: 16_384, secret: true });
      if (file.ok) {
        const credentials = fromText(file.text);
        if (credentials !== null) return credentials;
      } else if (file.reason === "absent") return null;
      const reason = file.ok ? "not credentials" : file.reason.replaceAll("_", " ");
      const damaged = file.ok || file.reason === "too_large" || file.reason === "not_text";
      throw new CredentialsError(`could not use ${path}: ${reason}`, damaged);
    },
    async write(credentials) {
      writeFileAtomic(path, `${toText(credentials)}\n`, { mode: 0o600 });
    },
    async clear() {
      rmSync(path, { force: true });
      // Left by a process that was killed while it replaced the file.
      for (const name of existsSync(home) ? readdirSync(home) : [])
        if (name.startsWith(`${CREDENTIALS_FILE}.`) && name.endsWith(".tmp"))
          rmSync(join(home, name), { force: true });
      // The database's log may still have a copy. Without its key it is no secret.
      rmSync(keyFile, { force: true });
    },
    seal: (credentials) => box.seal(toText(credentials)),
    async open(sealed) {
      const text = await box.open(sealed);
      return text === null ? null : fromText(text);
    },
  };
}

function toText(credentials: CloudCredentials): string {
  const { token, origin, baseUrl, workspaceId, workspaceName, machineId, promptHashKey, createdAt } =
    credentials;
  const file: v.InferOutput<typeof fileSchema> = {
    token,
    origin,
    base_url: baseUrl,
    workspace_id: workspaceId,
    workspace_name: workspaceName,
    machine_id: machineId,
    prompt_hash_key: promptHashKey,
    created_at: new Date(createdAt).toISOString(),
  };
  return JSON.stringify(file, null, 2);
}

function fromText(text: string): CloudCredentials | null {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    return null;
  }
  const parsed = v.safeParse(fileSchema, json);
  if (!parsed.success) return null;
  const file = parsed.output;
  const createdAt = Date.parse(file.created_at);
  if (Number.isNaN(createdAt)) return null;
  return {
    token: file.token,
    origin: file.origin,
    baseUrl: file.base_url,
    workspaceId: file.workspace_id,
    workspaceName: file.workspace_name,
    machineId: file.machine_id,
    promptHashKey: file.prompt_hash_key,
    createdAt,
  };
}
