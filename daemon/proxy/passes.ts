import { NO_PASS_ROOM, type PassRoom, UNLIMITED_ROOM } from "../../core/budgets/pass-room.ts";
import type { PassedUses } from "./call-question.ts";

/**
 * The most calls that may be under way without being counted in flight, from the oldest to the latest. A power of two. A daemon that is behind
 * by so many has nearly as much of the log to read as may be unread.
 */
export const MAX_PASSES = 16_384;

/** The most bytes of bodies that are kept, of calls whose bounds are not known. */
const MAX_KEPT_BYTES = 8 * 1_048_576;

/**
 * The memory that the daemon writes and the relay reads, as 32-bit words: first how much room there is, then a slot for the number of each
 * call that passed, which the daemon writes once the budgets' sums contain the call. A call uses the slot of its number modulo
 * `MAX_PASSES`. The relay writes nothing, so one that crashes leaves nothing behind.
 */
export interface PassMemory {
  /** Fills the array with the words from this one on. */
  load(words: Int32Array, from: number): void;
  /** Writes the words from this one on. */
  store(words: Int32Array, from: number): void;
}

/** The fields of the room, as 64-bit floats: calls, USD, tokens, how many calls are counted since the relay began; and a checksum. */
const ROOM_FIELDS = 5;
const ROOM_WORDS = 2 * ROOM_FIELDS;

/** The size of the memory. It is 0 at first, which is no room. */
export const PASS_MEMORY_WORDS: number = ROOM_WORDS + MAX_PASSES;

/** Opens memory that threads of one process share. */
export function openThreadMemory(shared: SharedArrayBuffer): PassMemory {
  const all = new Int32Array(shared);
  return {
    load(words, from) {
      for (let index = 0; index < words.length; index += 1) words[index] = Atomics.load(all, from + index);
    },
    store(words, from) {
      for (let index = 0; index < words.length; index += 1)
        Atomics.store(all, from + index, words[index] as number);
    },
  };
}

/** Creates memory for `openThreadMemory()`. */
export const createThreadMemory = (): SharedArrayBuffer => new SharedArrayBuffer(4 * PASS_MEMORY_WORDS);

/** The room, in the form of the memory. */
function createRoomFields() {
  const words = new Int32Array(ROOM_WORDS);
  return { words, values: new Float64Array(words.buffer) };
}

/** Tells a room that was written as a whole from one that is being written. */
function checksum(words: Int32Array): number {
  let sum = 0x811c9dc5;
  for (let index = 0; index < ROOM_WORDS - 2; index += 1)
    sum = Math.imul(sum ^ (words[index] as number), 0x01000193);
  return sum | 0;
}

/** The daemon's end of the memory. */
export interface PassCounts {
  /** Sets the room, which contains these calls, and tells the relay that the sums contain them. */
  update(room: PassRoom, counted?: readonly number[]): void;
  /** The relay has ended. The next one numbers its calls from 1. */
  reset(): void;
}

/** Opens the daemon's end. */
export function createPassCounts(memory: PassMemory): PassCounts {
  let room = NO_PASS_ROOM;
  let counted = 0;
  const { words, values } = createRoomFields();
  const slots = new Int32Array(MAX_PASSES);
  const writeRoom = () => {
    values.set([room.calls, room.microUsd, room.tokens, counted]);
    words[ROOM_WORDS - 2] = checksum(words);
    memory.store(words, 0);
  };
  /** Writes the slots of numbers from one to another, whichever of them have changed. */
  const writeSlots = (first: number, last: number) => {
    const from = first % MAX_PASSES;
    const end = from + Math.min(last - first + 1, MAX_PASSES);
    memory.store(slots.subarray(from, Math.min(end, MAX_PASSES)), ROOM_WORDS + from);
    if (end > MAX_PASSES) memory.store(slots.subarray(0, end - MAX_PASSES), ROOM_WORDS);
  };
  return {
    update(next, passes = []) {
      const isSame =
        next.calls === room.calls && next.microUsd === room.microUsd && next.tokens === room.tokens;
      if (isSame && passes.length === 0) return;
      room = next;
      counted += passes.length;
      // Before the slots: the relay takes a call for counted only with a room that contains it.
      writeRoom();
      let first = Number.POSITIVE_INFINITY;
      let last = 0;
      for (const pass of passes) {
        slots[pass % MAX_PASSES] = pass;
        first = Math.min(first, pass);
        last = Math.max(last, pass);
      }
      if (last > 0) writeSlots(first, last);
    },
    reset() {
      room = NO_PASS_ROOM;
      counted = 0;
      writeRoom();
      slots.fill(0);
      memory.store(slots, ROOM_WORDS);
    },
  };
}

/** The most that a call can use. Null: not known. */
export interface PassBound {
  readonly microUsd: number | null;
  readonly tokens: number | null;
}

/** A call that is sent without a decision. */
export interface PassedCall {
  /** Returns what it can use at most. It is needed only if another call begins before this one is counted. */
  bound(): PassBound;
  /** Its body, which is needed only if the bound is not known; and how many bytes that keeps. */
  body(): Uint8Array;
  readonly keptBytes: number;
}

/** The calls that pass without a decision, because every budget has ample room. */
export interface Passes {
  /** Lets a call pass, and returns its number. Null: there is no room for it. */
  begin(call: PassedCall): number | null;
  /** A call waits for a decision, until the returned function is called. The room does not contain what it can use. */
  wait(bound: () => PassBound): () => void;
  /** Returns what those use that the budgets do not contain yet, each once. Null: there are none, not even such that were returned. */
  uncounted(): PassedUses | null;
}

interface OpenPass {
  readonly number: number;
  /** Null: its bound is known. */
  call: PassedCall | null;
  /** The bound; NaN if it is not known. */
  microUsd: number;
  tokens: number;
}

interface WaitingCall {
  readonly find: () => PassBound;
  bound: PassBound | null;
}

/**
 * How long a room that was read lets calls pass, in milliseconds. To read it takes 3 µs, and it is exact as of then: it contains the
 * calls that were counted, and the others are in `open`.
 */
const ROOM_AGE_MS = 1;

/** With twice as many open calls as were left the last time, and at least so many, it is worth while to look which of them are counted. */
const LEAST_TO_REMOVE = 64;

interface PassState {
  readonly memory: PassMemory;
  readonly monotonicMs: () => number;
  /** When the room was read. */
  readAtMs: number;
  readonly fields: ReturnType<typeof createRoomFields>;
  slots: Int32Array;
  room: PassRoom;
  /** How many calls the memory says are counted, and how many of them were removed from `open`. */
  counted: number;
  removed: number;
  last: number;
  /** The last one whose use was returned. */
  returned: number;
  /** Those that are not counted, as far as that was read. Oldest first. */
  open: OpenPass[];
  /** How many were left when the counted ones were removed. */
  left: number;
  readonly waiting: Set<WaitingCall>;
  keptBytes: number;
  /** The sums of the bounds of the first `bounded` ones; NaN if one is not known. */
  bounded: number;
  microUsd: number;
  tokens: number;
}

/** Creates the passes of a relay. */
export function createPasses(memory: PassMemory, monotonicMs = () => performance.now()): Passes {
  const state: PassState = {
    memory,
    monotonicMs,
    readAtMs: Number.NEGATIVE_INFINITY,
    fields: createRoomFields(),
    slots: new Int32Array(0),
    room: NO_PASS_ROOM,
    waiting: new Set(),
    ...{ counted: 0, removed: 0, last: 0, returned: 0, open: [], left: 0 },
    ...{ keptBytes: 0, bounded: 0, microUsd: 0, tokens: 0 },
  };
  return {
    begin(call) {
      if (state.monotonicMs() - state.readAtMs >= ROOM_AGE_MS) readAgain(state);
      if (!mayPass(state, call)) {
        removeCounted(state);
        if (!mayPass(state, call)) return null;
      }
      const number = state.last + 1;
      state.last = number;
      state.keptBytes += call.keptBytes;
      const pass: OpenPass = { number, call, microUsd: Number.NaN, tokens: Number.NaN };
      // An array of one is far smaller than one that grows.
      if (state.open.length === 0) state.open = [pass];
      else state.open.push(pass);
      return number;
    },
    wait(find) {
      const call: WaitingCall = { find, bound: null };
      state.waiting.add(call);
      return () => {
        state.waiting.delete(call);
        // It is in no room that was read before its decision.
        state.readAtMs = Number.NEGATIVE_INFINITY;
      };
    },
    uncounted: () => listUncounted(state),
  };
}

/** Whether another call may pass, as far as the memory was read. */
function mayPass(state: PassState, { keptBytes }: PassedCall): boolean {
  const [oldest] = state.open;
  if (oldest !== undefined && state.last + 1 - oldest.number >= MAX_PASSES) return false;
  // A call whose bound is known keeps no body.
  if (state.keptBytes + keptBytes > MAX_KEPT_BYTES) addBounds(state);
  return state.keptBytes + keptBytes <= MAX_KEPT_BYTES && hasRoom(state);
}

/** Reads the room. While it contains calls that are still in `open`, these count twice, so fewer calls may pass. */
function readAgain(state: PassState): void {
  state.readAtMs = state.monotonicMs();
  if (state.open.length >= Math.max(LEAST_TO_REMOVE, 2 * state.left)) removeCounted(state);
  else readRoom(state);
}

function readRoom(state: PassState): void {
  const { memory, fields } = state;
  const { words, values } = fields;
  memory.load(words, 0);
  // The daemon is writing it, or has not done so yet.
  if (words[ROOM_WORDS - 2] !== checksum(words)) {
    state.room = NO_PASS_ROOM;
    return;
  }
  const [calls = 0, microUsd = 0, tokens = 0, counted = 0] = values;
  state.room = { calls, microUsd, tokens };
  state.counted = counted;
}

/** Removes the calls that are counted, and reads the room. */
function removeCounted(state: PassState): void {
  readRoom(state);
  if (state.counted === state.removed) return;
  const { slots, open } = readSlots(state);
  let kept = 0;
  state.bounded = state.microUsd = state.tokens = state.keptBytes = 0;
  for (const each of open) {
    if (slots[each.number % MAX_PASSES] === (each.number | 0)) continue;
    open[kept++] = each;
    state.keptBytes += each.call?.keptBytes ?? 0;
  }
  state.removed += open.length - kept;
  open.length = state.left = kept;
  // After the slots: the room contains a call before its slot says so.
  readRoom(state);
}

/** Reads the slots of the calls from the oldest open one to the last, which may begin again at the first slot. */
function readSlots(state: PassState): PassState {
  const { memory, open, last } = state;
  const [oldest] = open;
  if (oldest === undefined) return state;
  if (state.slots.length === 0) state.slots = new Int32Array(MAX_PASSES);
  const from = oldest.number % MAX_PASSES;
  const end = from + last - oldest.number + 1;
  memory.load(state.slots.subarray(from, Math.min(end, MAX_PASSES)), ROOM_WORDS + from);
  if (end > MAX_PASSES) memory.load(state.slots.subarray(0, end - MAX_PASSES), ROOM_WORDS);
  return state;
}

/** Whether another call may pass: the calls that are not in the room can use less than it. */
function hasRoom(state: PassState): boolean {
  const { open, room, waiting } = state;
  if (open.length + waiting.size >= room.calls) return false;
  const isLimited = room.microUsd !== UNLIMITED_ROOM || room.tokens !== UNLIMITED_ROOM;
  if (!isLimited) return true;
  addBounds(state);
  let { microUsd, tokens } = state;
  for (const each of waiting) {
    each.bound ??= each.find();
    microUsd += each.bound.microUsd ?? Number.NaN;
    tokens += each.bound.tokens ?? Number.NaN;
  }
  // Nothing is less than a room if it is not known.
  return (
    (room.microUsd === UNLIMITED_ROOM || microUsd < room.microUsd) &&
    (room.tokens === UNLIMITED_ROOM || tokens < room.tokens)
  );
}

/** Adds the bounds of the calls that began since the last time. */
function addBounds(state: PassState): void {
  const { open } = state;
  for (; state.bounded < open.length; state.bounded += 1) {
    const each = open[state.bounded] as OpenPass;
    findBound(state, each);
    state.microUsd += each.microUsd;
    state.tokens += each.tokens;
  }
}

function findBound(state: PassState, each: OpenPass): void {
  if (each.call === null) return;
  const { microUsd, tokens } = each.call.bound();
  each.microUsd = microUsd ?? Number.NaN;
  each.tokens = tokens ?? Number.NaN;
  if (microUsd !== null && tokens !== null) forgetCall(state, each);
}

function forgetCall(state: PassState, each: OpenPass): void {
  state.keptBytes -= each.call?.keptBytes ?? 0;
  each.call = null;
}

function listUncounted(state: PassState): PassedUses | null {
  removeCounted(state);
  const { open, returned } = state;
  if (open.length === 0) return null;
  // They are in the order of their numbers.
  const added = open.slice(open.findLastIndex(({ number }) => number <= returned) + 1);
  const bodies = new Map<number, Uint8Array>();
  for (const each of added) {
    findBound(state, each);
    if (each.call !== null) bodies.set(each.number, each.call.body());
    forgetCall(state, each);
  }
  state.returned = state.last;
  const bounds = Float64Array.from(
    added.flatMap(({ number, microUsd, tokens }) => [number, microUsd, tokens]),
  );
  return { bounds, bodies };
}
