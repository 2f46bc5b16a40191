/** Time to the first progress line, and from one to the next, milliseconds. */
const TELL_EVERY_MS = 5_000;

/** Waits for the work and reports progress every few seconds, never after the work is done. A failing report is dropped. */
export async function withProgress<T>(work: Promise<T>, tell: () => Promise<void>): Promise<T> {
  let telling = Promise.resolve();
  const timer = setInterval(() => {
    telling = tell().catch(() => {});
  }, TELL_EVERY_MS);
  try {
    return await work;
  } finally {
    clearInterval(timer);
    await telling;
  }
}
