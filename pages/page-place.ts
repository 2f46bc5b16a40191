import type { PageClock } from "./times.ts";

/** The time zone and the current time with which a page is rendered, and the base of its links. */
export interface PagePlace extends PageClock {
  /** What all pages of the host are below: empty on a machine, `/w/{ws}` in a cloud. */
  readonly base: string;
}

/** Returns the address of a page by its path below the base, which is `/` for the overview. */
export const pageHref = (base: string, path: string): string => (path === "/" ? base || "/" : base + path);
