import { DAY_MS } from "../../core/values/time.ts";

/** Decides which names of unlisted hosts are counted, so that a program can't fill the database with them. */
export interface HostNames {
  /** Returns the address if it may be stored, otherwise null. */
  admit(address: string): string | null;
}

/** How many different addresses are named in a day, and how many below one domain. */
const MAX_NAMES = 64;
const MAX_NAMES_PER_SITE = 8;

/** A DNS name, an address or a bracketed IPv6 address, with a port or without. */
const ADDRESS = /^(?:[a-z0-9_.-]{1,253}|\[[0-9a-f:.]{2,45}\])(?::\d{1,5})?$/i;

/** Creates the limits, which are reset each day by the clock. */
export function createHostNames(monotonicMs: () => number): HostNames {
  let names = new Set<string>();
  let sites = new Map<string, number>();
  let until = monotonicMs() + DAY_MS;
  return {
    admit(given) {
      const address = given.toLowerCase();
      if (monotonicMs() >= until) {
        [names, sites, until] = [new Set(), new Map(), monotonicMs() + DAY_MS];
      }
      if (names.has(address)) return address;
      const site = siteOf(address);
      const below = sites.get(site) ?? 0;
      if (names.size >= MAX_NAMES || below >= MAX_NAMES_PER_SITE || !ADDRESS.test(address)) return null;
      names.add(address);
      sites.set(site, below + 1);
      return address;
    },
  };
}

/** The last two labels of a name. All IP addresses are one site. */
function siteOf(address: string): string {
  const host = address.replace(/:\d+$/, "");
  return /^\[|^[\d.]+$/.test(host) ? "ip" : host.split(".").slice(-2).join(".");
}
