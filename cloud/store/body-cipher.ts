// Bodies are stored encrypted with AES-256-GCM: a nonce, then the ciphertext with its tag.

/** The length of a body key, bytes. */
export const BODY_KEY_BYTES = 32;

/** The length of a nonce, bytes. */
export const NONCE_BYTES = 12;

const TAG_BYTES = 16;

/** How much longer a sealed body is than its content, bytes. */
export const SEAL_BYTES = NONCE_BYTES + TAG_BYTES;

/** Where a body belongs. A body that was moved to another row or side does not decrypt. */
export interface BodyPlace {
  readonly workspaceId: string;
  readonly requestId: string;
  readonly direction: "request" | "response";
}

/** Encrypts a body with its key and a random nonce. */
export async function sealBody(
  content: Uint8Array,
  key: Uint8Array,
  place: BodyPlace,
  nonce: Uint8Array,
): Promise<Uint8Array> {
  const sealed = await crypto.subtle.encrypt(
    algorithm(nonce, place),
    await importKey(key, "encrypt"),
    new Uint8Array(content),
  );
  const bytes = new Uint8Array(NONCE_BYTES + sealed.byteLength);
  bytes.set(nonce);
  bytes.set(new Uint8Array(sealed), NONCE_BYTES);
  return bytes;
}

/** Decrypts a body. Throws if it was sealed with another key, changed, or moved from its place. */
export async function openBody(sealed: Uint8Array, key: Uint8Array, place: BodyPlace): Promise<Uint8Array> {
  const nonce = sealed.subarray(0, NONCE_BYTES);
  const content = await crypto.subtle.decrypt(
    algorithm(nonce, place),
    await importKey(key, "decrypt"),
    new Uint8Array(sealed.subarray(NONCE_BYTES)),
  );
  return new Uint8Array(content);
}

function importKey(key: Uint8Array, usage: "encrypt" | "decrypt") {
  return crypto.subtle.importKey("raw", new Uint8Array(key), "AES-GCM", false, [usage]);
}

function algorithm(nonce: Uint8Array, { workspaceId, requestId, direction }: BodyPlace) {
  const place = [workspaceId, requestId, direction].join("/").toLowerCase();
  return {
    name: "AES-GCM",
    iv: new Uint8Array(nonce),
    additionalData: new TextEncoder().encode(place),
    tagLength: TAG_BYTES * 8,
  };
}
