import type { ByteBudget } from "./byte-budget.ts";

/**
 * The maximum size of a body that is kept, in bytes. docs/specification.md#limits: bodies larger than 4 MiB are not captured.
 * A longer request has no `prompt_hash`. The usage of a longer stream is still read.
 */
export const MAX_CAPTURED_BYTES = 4 * 1024 * 1024;

/** Whether a body's bytes are kept, or why not. */
type BodyBufferState = "kept" | "too_large" | "no_room" | "released";

/**
 * The bytes of one body, if they fit into its own limit and into the budget that all bodies share. A body that does not fit
 * is dropped completely, since a part of a JSON document is useless. Its bytes are still counted.
 */
export interface BodyBuffer {
  readonly totalBytes: number;
  readonly state: BodyBufferState;
  append(bytes: Uint8Array): void;
  /** Returns the bytes as one array, or null if they are not kept. */
  bytes(): Uint8Array | null;
  /** Frees the memory. Bytes appended afterwards are only counted. */
  release(): void;
}

interface BodyBufferOptions {
  readonly budget: ByteBudget;
  readonly maxBytes?: number;
  /** Receives all bytes of a body that does not fit, from the first to the last. Each view is valid only during the call. */
  readonly overflow?: (bytes: Uint8Array) => void;
}

/** Small bodies of one chunk share a slab, because a separate allocation costs more than copying. */
const SLAB_BYTES = 16_384;
const MAX_SHARED_BYTES = 4_096;
let slab = new Uint8Array(0);
let slabUsed = 0;

/** A further chunk is as large as all chunks before it, up to this size. */
const MAX_CHUNK_BYTES = 65_536;

function allocateShared(size: number): Uint8Array {
  if (slabUsed + size > slab.length) {
    slab = new Uint8Array(SLAB_BYTES);
    slabUsed = 0;
  }
  slabUsed += size;
  return slab.subarray(slabUsed - size, slabUsed);
}

interface BufferedBody extends BodyBuffer {
  readonly budget: ByteBudget;
  readonly maxBytes: number;
  readonly overflow: ((bytes: Uint8Array) => void) | undefined;
  /** All chunks are full, except the last, which contains `lastUsed` bytes. */
  chunks: Uint8Array[];
  lastUsed: number;
  /** The bytes taken from the budget. */
  heldBytes: number;
  totalBytes: number;
  state: BodyBufferState;
}

export function createBodyBuffer({
  budget,
  maxBytes = MAX_CAPTURED_BYTES,
  overflow,
}: BodyBufferOptions): BodyBuffer {
  // One object with plain members: each accessor in a literal would take 0.3 µs to create.
  const body: BufferedBody = {
    budget,
    maxBytes,
    overflow,
    chunks: [],
    lastUsed: 0,
    heldBytes: 0,
    totalBytes: 0,
    state: "kept",
    append: (bytes) => append(body, bytes),
    bytes: () => (body.state === "kept" ? joinChunks(body) : null),
    release: () => drop(body, "released"),
  };
  return body;
}

function append(body: BufferedBody, bytes: Uint8Array): void {
  body.totalBytes += bytes.length;
  if (body.state === "released") return;
  if (body.state === "kept") {
    const fits = body.totalBytes <= body.maxBytes;
    if (fits && tryStore(body, bytes)) return;
    if (body.overflow !== undefined) forwardChunks(body, body.overflow);
    drop(body, fits ? "no_room" : "too_large");
  }
  body.overflow?.(bytes);
}

/** Copies the bytes, since the view belongs to the caller. Returns false if the budget is exhausted. */
function tryStore(body: BufferedBody, bytes: Uint8Array): boolean {
  const { chunks, lastUsed } = body;
  const last = chunks.at(-1);
  const fitting = Math.min(bytes.length, last === undefined ? 0 : last.length - lastUsed);
  const rest = bytes.length - fitting;
  if (rest > 0) {
    const size = last === undefined ? rest : Math.max(rest, Math.min(body.totalBytes, MAX_CHUNK_BYTES));
    if (!body.budget.take(size)) return false;
    body.heldBytes += size;
    const isShared = last === undefined && size <= MAX_SHARED_BYTES;
    chunks.push(isShared ? allocateShared(size) : new Uint8Array(size));
  }
  if (fitting > 0) last?.set(fitting < bytes.length ? bytes.subarray(0, fitting) : bytes, lastUsed);
  if (rest > 0) chunks.at(-1)?.set(fitting > 0 ? bytes.subarray(fitting) : bytes);
  body.lastUsed = rest > 0 ? rest : lastUsed + fitting;
  return true;
}

function forwardChunks({ chunks, lastUsed }: BufferedBody, receive: (bytes: Uint8Array) => void): void {
  const last = chunks.at(-1);
  for (const chunk of chunks) receive(chunk === last ? chunk.subarray(0, lastUsed) : chunk);
}

/** Returns the bytes as one array, which replaces the chunks. */
function joinChunks(body: BufferedBody): Uint8Array {
  const last = body.chunks.at(-1);
  if (last === undefined) return new Uint8Array(0);
  if (body.chunks.length === 1) return last.subarray(0, body.lastUsed);
  const whole = new Uint8Array(body.totalBytes);
  let offset = 0;
  forwardChunks(body, (bytes) => {
    whole.set(bytes, offset);
    offset += bytes.length;
  });
  freeChunks(body);
  body.chunks = [whole];
  body.lastUsed = body.totalBytes;
  return whole;
}

/** Frees the memory at once. After a burst, garbage collection would free it much later. */
function freeChunks(body: BufferedBody): void {
  for (const { buffer } of body.chunks)
    if (buffer.byteLength !== SLAB_BYTES) (buffer as ArrayBuffer).transfer(0);
  body.chunks = [];
}

function drop(body: BufferedBody, reason: BodyBufferState): void {
  body.state = reason;
  freeChunks(body);
  body.budget.release(body.heldBytes);
  body.heldBytes = 0;
}
