/** Finds where the frames and messages of one direction of a WebSocket end (RFC 6455, section 5.2), without reading them. */
export interface FrameScanner {
  /** Continues at `from`, and returns the index after the frame's last byte, or the end of the bytes. */
  scan(bytes: Uint8Array, from: number): number;
  /** Whether the last byte was the last of a frame. */
  readonly isAtFrameEnd: boolean;
  /** Whether it was the last of a message, or of a control frame that is not within a message. */
  readonly isAtMessageEnd: boolean;
}

const MAX_HEAD_BYTES = 14;

interface ScannerState {
  readonly head: Uint8Array;
  headLength: number;
  payloadLeft: number;
  /** Whether a message continues in further frames. */
  isInMessage: boolean;
}

export function createFrameScanner(): FrameScanner {
  const state: ScannerState = {
    head: new Uint8Array(MAX_HEAD_BYTES),
    headLength: 0,
    payloadLeft: 0,
    isInMessage: false,
  };
  const isAtFrameEnd = () => state.headLength === 0 && state.payloadLeft === 0;
  return {
    scan: (bytes, from) => scanFrame(state, bytes, from),
    get isAtFrameEnd() {
      return isAtFrameEnd();
    },
    get isAtMessageEnd() {
      return isAtFrameEnd() && !state.isInMessage;
    },
  };
}

function scanFrame(state: ScannerState, bytes: Uint8Array, from: number): number {
  let at = from;
  while (at < bytes.length && state.payloadLeft === 0) {
    state.head[state.headLength] = bytes[at] as number;
    state.headLength += 1;
    at += 1;
    if (state.headLength < headBytes(state)) continue;
    const opcode = (state.head[0] as number) & 0x0f;
    if (opcode < 8) state.isInMessage = (state.head[0] as number) < 0x80;
    state.payloadLeft = payloadBytes(state.head);
    state.headLength = 0;
    if (state.payloadLeft === 0) return at;
  }
  const to = Math.min(bytes.length, at + state.payloadLeft);
  state.payloadLeft -= to - at;
  return to;
}

/** The size of the frame's head, as far as it is known. */
function headBytes({ head, headLength }: ScannerState): number {
  if (headLength < 2) return 2;
  const second = head[1] as number;
  const length = second & 0x7f;
  return 2 + (length === 126 ? 2 : length === 127 ? 8 : 0) + (second >= 0x80 ? 4 : 0);
}

function payloadBytes(head: Uint8Array): number {
  const length = (head[1] as number) & 0x7f;
  const size = length === 126 ? 2 : length === 127 ? 8 : 0;
  if (size === 0) return length;
  return head.subarray(2, 2 + size).reduce((total, byte) => total * 256 + byte, 0);
}
