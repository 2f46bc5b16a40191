import { NO_PASS_ROOM, type PassRoom, UNLIMITED_ROOM } from "../../core/budgets/pass-room.ts";
import type { CallQuestion } from "./call-question.ts";

/**
 * The most calls that may be under way without being counted in flight. A power of two. They are sent with one question, which takes the
 * daemon a second to read if there are 4,096.
 */
export const MAX_PASSES = 1_024;

/** The most bytes of their bodies that are kept, in case they must be counted. */
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
  setRoom(room: PassRoom): void;
  /** The sums contain these calls, and so does the room that was set last. */
  counted(passes: readonly number[]): void;
  /** The relay has ended. The next one numbers its calls from 1. */
  reset(): void;
}

/** Opens the daemon's end. */
export function createPassCounts(memory: PassMemory): PassCounts {
  let room = NO_PASS_ROOM;
  let counted = 0;
  const { words, values } = createRoomFields();
  const slot = new Int32Array(1);
  const write = () => {
    values.set([room.calls, room.microUsd, room.tokens, counted]);
    words[ROOM_WORDS - 2] = checksum(words);
    memory.store(words, 0);
  };
  return {
    setRoom(next) {
      if (next.calls === room.calls && next.microUsd === room.microUsd && next.tokens === room.tokens) return;
      room = next;
      write();
    },
    counted(passes) {
      if (passes.length === 0) return;
      for (const pass of passes) {
        slot[0] = pass;
        memory.store(slot, ROOM_WORDS + (pass % MAX_PASSES));
      }
      // Last: the relay looks for them when this number has changed.
      counted += passes.length;
      write();
    },
    reset() {
      room = NO_PASS_ROOM;
      counted = 0;
      write();
      memory.store(new Int32Array(MAX_PASSES), ROOM_WORDS);
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
  /** How many bytes of its body are kept. */
  readonly keptBytes: number;
  /** Returns the question that counts it. */
  question(): CallQuestion;
  /** Returns what it can use at most. It is needed only if another call begins before this one is counted. */
  bound(): PassBound;
}

/** The calls that pass without a decision, because every budget has ample room. */
export interface Passes {
  /** Lets a call pass, and returns its number. Null: there is no room for it. */
  begin(call: PassedCall): number | null;
  /** A call waits for a decision, until the returned function is called. The room does not contain what it can use. */
  wait(bound: () => PassBound): () => void;
  /** Returns those that the budgets do not contain yet. */
  uncounted(): readonly PassedCall[];
}

interface OpenPass {
  readonly call: PassedCall;
  readonly number: number;
  /** Null: not needed yet. */
  bound: PassBound | null;
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

interface PassState {
  readonly memory: PassMemory;
  readonly monotonicMs: () => number;
  /** When the room was read. */
  readAtMs: number;
  readonly fields: ReturnType<typeof createRoomFields>;
  readonly slots: Int32Array;
  room: PassRoom;
  /** How many calls the memory says are counted, and how many of them were removed from `open`. */
  counted: number;
  removed: number;
  last: number;
  /** Oldest first. */
  open: OpenPass[];
  readonly waiting: Set<WaitingCall>;
  keptBytes: number;
  /** The sums of the bounds of the first `bounded` ones; infinite if one is not known. */
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
    slots: new Int32Array(MAX_PASSES),
    room: NO_PASS_ROOM,
    waiting: new Set(),
    ...{ counted: 0, removed: 0, last: 0, open: [], keptBytes: 0, bounded: 0, microUsd: 0, tokens: 0 },
  };
  return {
    begin(call) {
      const isFresh = state.monotonicMs() - state.readAtMs < ROOM_AGE_MS;
      if (!isFresh || !mayPass(state, call)) {
        readMemory(state);
        if (!mayPass(state, call)) return null;
      }
      const number = state.last + 1;
      state.last = number;
      state.keptBytes += call.keptBytes;
      const pass: OpenPass = { call, number, bound: null };
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
    uncounted() {
      readMemory(state);
      return state.open.map(({ call }) => call);
    },
  };
}

/** Whether a call may pass, as far as the memory was read. */
function mayPass(state: PassState, call: PassedCall): boolean {
  const { open, last, keptBytes } = state;
  const [oldest] = open;
  if (oldest !== undefined && last + 1 - oldest.number >= MAX_PASSES) return false;
  return hasRoom(state) && keptBytes + call.keptBytes <= MAX_KEPT_BYTES;
}

/** Reads the room, and removes the calls that are counted. */
function readMemory(state: PassState): void {
  readRoom(state);
  state.readAtMs = state.monotonicMs();
  if (state.counted === state.removed) return;
  removeCounted(state);
  // After the slots: the room contains a call before its slot says so.
  readRoom(state);
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

function removeCounted(state: PassState): void {
  const { slots, open } = state;
  readSlots(state);
  let kept = 0;
  state.bounded = state.microUsd = state.tokens = state.keptBytes = 0;
  for (const each of open) {
    if (slots[each.number % MAX_PASSES] === (each.number | 0)) continue;
    open[kept++] = each;
    state.keptBytes += each.call.keptBytes;
  }
  state.removed += open.length - kept;
  open.length = kept;
}

/** Reads the slots of the calls from the oldest open one to the last, which may begin again at the first slot. */
function readSlots({ memory, slots, open, last }: PassState): void {
  const [oldest] = open;
  if (oldest === undefined) return;
  const from = oldest.number % MAX_PASSES;
  const end = from + last - oldest.number + 1;
  memory.load(slots.subarray(from, Math.min(end, MAX_PASSES)), ROOM_WORDS + from);
  if (end > MAX_PASSES) memory.load(slots.subarray(0, end - MAX_PASSES), ROOM_WORDS);
}

/** Whether another call may pass: the calls that are not in the room can use less than it. */
function hasRoom(state: PassState): boolean {
  const { open, room, waiting } = state;
  if (open.length + waiting.size >= room.calls) return false;
  const isLimited = room.microUsd !== UNLIMITED_ROOM || room.tokens !== UNLIMITED_ROOM;
  if (!isLimited) return true;
  for (; state.bounded < open.length; state.bounded += 1) {
    const each = open[state.bounded] as OpenPass;
    each.bound ??= each.call.bound();
    state.microUsd += each.bound.microUsd ?? Number.POSITIVE_INFINITY;
    state.tokens += each.bound.tokens ?? Number.POSITIVE_INFINITY;
  }
  let { microUsd, tokens } = state;
  for (const each of waiting) {
    each.bound ??= each.find();
    microUsd += each.bound.microUsd ?? Number.POSITIVE_INFINITY;
    tokens += each.bound.tokens ?? Number.POSITIVE_INFINITY;
  }
  return (
    (room.microUsd === UNLIMITED_ROOM || microUsd < room.microUsd) &&
    (room.tokens === UNLIMITED_ROOM || tokens < room.tokens)
  );
}
