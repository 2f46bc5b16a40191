import { sha256 as nobleSha256 } from "@noble/hashes/sha2.js";
import type { Sha256 } from "../../core/values/hash.ts";

/** Computes SHA-256 with `@noble/hashes`, which is plain JavaScript, for runtimes without `node:crypto`. */
export const sha256: Sha256 = (bytes) => nobleSha256(bytes);
