/** Options of a frame as a sender writes it. */
export interface Frame {
  opcode: number;
  payload: Uint8Array;
  final?: boolean;
  /** RSV1: the first frame of a compressed message. */
  compressed?: boolean;
  /** Four bytes; a server sends none. */
  mask?: Uint8Array;
  /** The notation of the length; by default the shortest that fits. */
  lengthBytes?: 1 | 2 | 8;
}

/** Returns a frame's bytes (RFC 6455, section 5.2). Written from the RFC, independently of the reader. */
export function frameBytes(frame: Frame): Uint8Array {
  const { opcode, payload, final = true, compressed = false, mask } = frame;
  const lengthBytes = frame.lengthBytes ?? (payload.length < 126 ? 1 : payload.length < 65536 ? 2 : 8);
  const head = [(final ? 0x80 : 0) | (compressed ? 0x40 : 0) | opcode];
  const masked = mask === undefined ? 0 : 0x80;
  if (lengthBytes === 1) head.push(masked | payload.length);
  else {
    head.push(masked | (lengthBytes === 2 ? 126 : 127));
    const length = BigInt(payload.length);
    for (let shift = BigInt(lengthBytes - 1) * 8n; shift >= 0n; shift -= 8n) {
      head.push(Number((length >> shift) & 0xffn));
    }
  }
  if (mask === undefined) return Uint8Array.of(...head, ...payload);
  return Uint8Array.of(...head, ...mask, ...payload.map((byte, at) => byte ^ (mask[at % 4] as number)));
}

/** Concatenates bytes. */
export function joined(pieces: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.length, 0));
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}
