/** A bar: its value, and the value at the same place in the previous period. */
export interface PictureBar {
  readonly value: bigint;
  readonly before: bigint | null;
}

const WIDTH = 560;
const HEIGHT = 200;

/** The space around the bars and between two of them, in pixels. */
const MARGIN = 12;
const GAP = 16;

/** The length of a dash and of the space after it, in pixels. */
const DASH = 6;

/** The colours by their numbers: paper, bar, previous period, base line. */
const PALETTE = [0xffffff, 0x6c8dfd, 0x767b85, 0xc9ccd3] as const;
const [PAPER, BAR, BEFORE, BASE] = [0, 1, 2, 3];

/** Draws bars, each with a dashed line for the previous period, as a PNG (ISO/IEC 15948) of 560 by 200 pixels in four colours. */
export async function drawBars(bars: readonly PictureBar[]): Promise<Uint8Array> {
  return await encodePng(paint(bars));
}

/** Returns the number of the colour of each pixel, row by row. */
function paint(bars: readonly PictureBar[]): Uint8Array {
  const pixels = new Uint8Array(WIDTH * HEIGHT).fill(PAPER);
  const bottom = HEIGHT - MARGIN;
  let highest = 0n;
  for (const { value, before } of bars)
    for (const each of [value, before ?? 0n]) if (each > highest) highest = each;
  const heightOf = (value: bigint) =>
    value <= 0n ? 0 : Math.max(1, Number((value * BigInt(bottom - MARGIN)) / highest));
  const fill = (left: number, top: number, right: number, end: number, colour: number) => {
    for (let y = top; y < end; y += 1) pixels.fill(colour, y * WIDTH + left, y * WIDTH + right);
  };
  const slot = (WIDTH - 2 * MARGIN) / Math.max(1, bars.length);
  for (const [at, { value, before }] of bars.entries()) {
    const left = Math.round(MARGIN + at * slot);
    const right = Math.round(MARGIN + (at + 1) * slot);
    fill(left + GAP / 2, bottom - heightOf(value), right - GAP / 2, bottom, BAR);
    const level = bottom - heightOf(before ?? 0n);
    if (before !== null && before > 0n)
      for (let x = left; x < right; x += 2 * DASH)
        fill(x, level, Math.min(x + DASH, right), level + 2, BEFORE);
  }
  fill(MARGIN, bottom, WIDTH - MARGIN, bottom + 1, BASE);
  return pixels;
}

/** The first bytes of every PNG. */
const SIGNATURE = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a];

const BITS = 2;

async function encodePng(pixels: Uint8Array): Promise<Uint8Array> {
  const perByte = 8 / BITS;
  const rowBytes = WIDTH / perByte;
  // Each row begins with the number of its filter: none.
  const raw = new Uint8Array(HEIGHT * (rowBytes + 1));
  for (let y = 0; y < HEIGHT; y += 1)
    for (let x = 0; x < WIDTH; x += 1) {
      const at = y * (rowBytes + 1) + 1 + Math.floor(x / perByte);
      const shift = 8 - BITS * ((x % perByte) + 1);
      raw[at] = (raw[at] ?? 0) | ((pixels[y * WIDTH + x] ?? 0) << shift);
    }
  const header = new Uint8Array(13);
  const view = new DataView(header.buffer);
  view.setUint32(0, WIDTH);
  view.setUint32(4, HEIGHT);
  // The bits of a pixel, and colour type 3: each pixel is a number of the palette.
  header.set([BITS, 3], 8);
  const palette = Uint8Array.from(PALETTE.flatMap((rgb) => [rgb >> 16, (rgb >> 8) & 0xff, rgb & 0xff]));
  const parts = [
    Uint8Array.from(SIGNATURE),
    chunk("IHDR", header),
    chunk("PLTE", palette),
    chunk("IDAT", await deflate(raw)),
    chunk("IEND", new Uint8Array()),
  ];
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}

/** Compresses bytes in the format of zlib (RFC 1950), which PNG uses. */
async function deflate(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
  const stream = new Blob([bytes]).stream().pipeThrough(new CompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

function chunk(type: string, content: Uint8Array): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(content.length + 12);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, content.length);
  bytes.set(new TextEncoder().encode(type), 4);
  bytes.set(content, 8);
  view.setUint32(content.length + 8, crc32(bytes.subarray(4, content.length + 8)));
  return bytes;
}

/** The cyclic redundancy check of a chunk. Source: ISO/IEC 15948, annex D. */
function crc32(bytes: Uint8Array): number {
  let crc = 0xffff_ffff;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit += 1) crc = crc & 1 ? (crc >>> 1) ^ 0xedb8_8320 : crc >>> 1;
  }
  return ~crc >>> 0;
}
