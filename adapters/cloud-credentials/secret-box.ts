import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import { closeSync, fsyncSync, openSync, rmSync, statSync, writeSync } from "node:fs";
import { readSmallFile } from "../files/read-small-file.ts";

const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** The first byte of sealed data, for a later change of format. */
const VERSION = 1;

/** Encrypts texts with a key in a separate file. */
interface SecretBox {
  /**
   * Encrypts a text with AES-256-GCM and a random nonce: version, nonce, tag, ciphertext. Creates the key if there is none.
   */
  seal(text: string): Promise<Uint8Array>;
  /** Decrypts; null if the data was sealed with another key or changed. */
  open(sealed: Uint8Array): Promise<string | null>;
}

/** Creates the box of a key file (mode 0600). Its methods reject if the file exists but cannot be trusted. */
export function createSecretBox(keyFile: string): SecretBox {
  async function key(): Promise<Uint8Array | null> {
    const file = await readSmallFile(keyFile, { maxBytes: 256, secret: true });
    // A full disk or a crash can leave an empty file, with which nothing was sealed.
    if (file.ok ? file.text === "" : file.reason === "absent") return null;
    const hex = file.ok ? file.text.trim() : "";
    if (!/^[0-9a-f]{64}$/.test(hex)) {
      throw new Error(`could not use the key file ${keyFile}: ${file.ok ? "not a key" : file.reason}`);
    }
    return Uint8Array.from(hex.match(/../g) as string[], (byte) => Number.parseInt(byte, 16));
  }

  async function keyOrNew(): Promise<Uint8Array> {
    const known = await key();
    if (known !== null) return known;
    if (statSync(keyFile, { throwIfNoEntry: false })?.size === 0) rmSync(keyFile, { force: true });
    try {
      // Exclusive: if two processes start together, one creates the key and the other reads it.
      const file = openSync(keyFile, "wx", 0o600);
      try {
        writeSync(file, `${randomBytes(KEY_BYTES).toString("hex")}\n`);
        fsyncSync(file);
      } finally {
        closeSync(file);
      }
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code !== "EEXIST") throw cause;
    }
    return (await key()) ?? keyOrNew();
  }

  return {
    async seal(text) {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv("aes-256-gcm", await keyOrNew(), nonce);
      const bytes = [cipher.update(text, "utf8"), cipher.final()];
      return new Uint8Array(
        [Uint8Array.of(VERSION), nonce, cipher.getAuthTag(), ...bytes].flatMap((part) => [...part]),
      );
    },
    async open(sealed) {
      const found = await key();
      if (found === null || sealed[0] !== VERSION || sealed.length < 1 + NONCE_BYTES + TAG_BYTES) return null;
      const tagAt = 1 + NONCE_BYTES;
      const textAt = tagAt + TAG_BYTES;
      const decipher = createDecipheriv("aes-256-gcm", found, sealed.subarray(1, tagAt), {
        authTagLength: TAG_BYTES,
      });
      decipher.setAuthTag(sealed.subarray(tagAt, textAt));
      try {
        return `${decipher.update(sealed.subarray(textAt), undefined, "utf8")}${decipher.final("utf8")}`;
      } catch {
        return null;
      }
    },
  };
}
