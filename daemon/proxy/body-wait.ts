/** How long a held body may pause, and how long it may take in all, in milliseconds. */
export const MAX_BODY_PAUSE_MS = 20;
export const MAX_BODY_WAIT_MS = 250;

/** The limited wait for the rest of a body that is held. */
export interface BodyWait {
  /** More of the body has arrived. */
  arrived(): void;
  end(): void;
}

/** Calls `onOver` once, when the body pauses or takes too long, unless the wait was ended. */
export function startBodyWait(onOver: () => void): BodyWait {
  let pieces = 0;
  let isEnded = false;
  const end = () => {
    isEnded = true;
    clearTimeout(pause);
    clearTimeout(all);
  };
  const over = () => {
    if (isEnded) return;
    end();
    onOver();
  };
  // Bytes may have arrived while this thread was busy: they are read before immediates.
  const onPause = () => {
    const known = pieces;
    setImmediate(() => {
      if (pieces === known) over();
    });
  };
  let pause = setTimeout(onPause, MAX_BODY_PAUSE_MS);
  const all = setTimeout(over, MAX_BODY_WAIT_MS);
  return {
    arrived() {
      pieces += 1;
      if (isEnded) return;
      clearTimeout(pause);
      pause = setTimeout(onPause, MAX_BODY_PAUSE_MS);
    },
    end,
  };
}
