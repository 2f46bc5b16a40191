import { rmSync } from "node:fs";
import { join } from "node:path";
import * as v from "valibot";
import type { CloudCredentials, CredentialStore } from "../../core/ports/cloud-credentials.ts";
import { readSmallFile, writeFileAtomic } from "../files/mod.ts";
import { createSecretBox } from "./secret-box.ts";

/** The credentials' file in the meter's home. Source: contract, "Authentication", item 2. */
export const CREDENTIALS_FILE = "cloud-credentials.json";

/** The key of the encrypted mirror, in the meter's home. */
export const CREDENTIALS_KEY_FILE = "cloud-credentials.key";

const fileSchema = v.object({
  token: v.pipe(v.string(), v.regex(/^[\x21-\x7e]{8,512}$/)),
  origin: v.pipe(v.string(), v.regex(/^https?:\/\/[^/\s?#@]+$/)),
  base_url: v.string(),
  workspace_id: v.string(),
  workspace_name: v.string(),
  machine_id: v.nullable(v.string()),
  created_at: v.string(),
});

/** The credentials are there, but can't be trusted or read. Names the file and the reason, and nothing of what it holds. */
export class CredentialsError extends Error {
  override readonly name = "CredentialsError";
}

/** Makes the store of a home: `cloud-credentials.json`, 0600, replaced in one step. */
export function createCredentialStore(home: string): CredentialStore {
  const path = join(home, CREDENTIALS_FILE);
  const box = createSecretBox(join(home, CREDENTIALS_KEY_FILE));

  return {
    async read() {
      const file = await readSmallFile(path, { maxBytes: 16_384, secret: true });
      if (file.ok) {
        const credentials = fromText(file.text);
        if (credentials !== null) return credentials;
      } else if (file.reason === "absent") return null;
      const reason = file.ok ? "not credentials" : file.reason.replaceAll("_", " ");
      throw new CredentialsError(`${path} can't be used: ${reason}`);
    },
    async write(credentials) {
      writeFileAtomic(path, `${toText(credentials)}\n`, { mode: 0o600 });
    },
    async clear() {
      rmSync(path, { force: true });
    },
    seal: (credentials) => box.seal(toText(credentials)),
    async open(sealed) {
      const text = await box.open(sealed);
      return text === null ? null : fromText(text);
    },
  };
}

function toText(credentials: CloudCredentials): string {
  const { token, origin, baseUrl, workspaceId, workspaceName, machineId, createdAt } = credentials;
  const file: v.InferOutput<typeof fileSchema> = {
    token,
    origin,
    base_url: baseUrl,
    workspace_id: workspaceId,
    workspace_name: workspaceName,
    machine_id: machineId,
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
    createdAt,
  };
}
