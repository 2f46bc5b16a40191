/** How long somebody waits for the first word of progress, and from one to the next, milliseconds. */
const TELL_EVERY_MS = 5_000;

/** Waits for the work, and tells every few seconds how it goes. What goes wrong in the telling costs the work nothing. */
export async function withProgress<T>(work: Promise<T>, tell: () => Promise<void>): Promise<T> {
  const timer = setInterval(() => void tell().catch(() => {}), TELL_EVERY_MS);
  try {
    return await work;
  } finally {
    clearInterval(timer);
  }
}
