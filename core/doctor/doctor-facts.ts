import type { CalendarDate, Millis } from "../time.ts";

/** What a client on this machine did when it was told to call a provider, through a stand-in for the proxy. */
export type ClientOutcome =
  /** It came through the proxy and trusted the authority: its calls are metered. */
  | "metered"
  /** It did not come through the proxy. */
  | "bypasses"
  /** The same, and no variable would change it: it is too old. */
  | "outdated"
  /** It came, and refused the certificate. */
  | "distrusts"
  /** It was not run: that would need a login. What it needs is in the environment. */
  | "expected"
  /** It was not run, and what it needs is not in the environment. */
  | "lacks_variables";

/** One client that was found. */
export interface ClientFacts {
  readonly name: string;
  /** As it says itself; null where it does not. */
  readonly version: string | null;
  readonly outcome: ClientOutcome;
  /** Why, where that is known, such as a runtime that is too old. */
  readonly why: string | null;
}

/** A connection from this machine straight to a provider, past the meter. */
export interface BypassingConnection {
  readonly host: string;
  readonly pid: number | null;
  readonly program: string | null;
}

/** Everything that a verdict is made from, as plain values. `null` = could not be found out, unless said otherwise. */
export interface DoctorFacts {
  readonly now: Millis;
  readonly platform: string;
  readonly meterHome: string;
  readonly version: string;
  readonly configWarnings: readonly string[];
  readonly install: {
    readonly record: "absent" | "present" | "unreadable";
    readonly manager: string | null;
    readonly apps: boolean;
    /** Files, lines and variables that are no longer as `init` made them. */
    readonly stale: readonly string[];
    /** A program that the service starts and that is gone. */
    readonly missingProgram: string | null;
    /** Steps that were begun and not finished. */
    readonly unfinished: number;
  };
  /** Null where the daemon does not answer. */
  readonly daemon: {
    readonly version: string;
    readonly proxyPort: number;
    readonly capturing: boolean;
    readonly watchdog: string;
    readonly endedUnused: number;
    readonly setAside: string | null;
  } | null;
  readonly proxy: {
    readonly configuredPort: number;
    /** Whether somebody listens there. */
    readonly taken: boolean;
  };
  /** Null where there is no daemon to try it with. */
  readonly selfTest: { readonly ok: boolean; readonly says: string } | null;
  readonly interception: "intercepted" | "not_intercepted" | "untrusted" | "offline" | null;
  readonly authority: {
    readonly state: "absent" | "current" | "hosts_changed" | "expiring" | "damaged";
    readonly validUntil: Millis | null;
    readonly keyOpenToOthers: boolean;
    /** Whether the lists of authorities that programs of this user read hold it. */
    readonly systemTrusts: boolean | null;
    /** Whether `init` put it there. */
    readonly trustRecorded: boolean;
    /** A command that puts it there: root's, where this user may not; null where none is known. */
    readonly trustCure: string | null;
  };
  readonly shell: {
    readonly proxy: "meter" | "other" | "none";
    /** Providers' hosts that this shell's exceptions keep from the proxy. */
    readonly excepted: readonly string[];
    /** Variables that name certificate files which are missing or lack the authority. */
    readonly badTrust: readonly string[];
    /** The file of variables that `init --apps` wrote for a shell like this one; null where there is none. */
    readonly variablesFile: string | null;
  };
  readonly clients: readonly ClientFacts[];
  readonly bypassing: readonly BypassingConnection[];
  /** Of the last 24 hours: what was seen on providers' hosts and is not in the records, in words. */
  readonly unmetered: readonly string[];
  readonly newestRate: CalendarDate | null;
  /** Whether published rates can be pulled from somewhere. */
  readonly ratesHaveSource: boolean;
  readonly database: {
    readonly state: "absent" | "ok" | "corrupt" | "older_schema" | "newer_schema" | "unreadable";
    readonly detail: string | null;
    /** When the youngest request was made. */
    readonly newestRequestAt: Millis | null;
    /** What its files take. */
    readonly bytes: number;
  };
  readonly freeDiskBytes: number | null;
  readonly cloud: { readonly banner: string; readonly reasons: readonly string[] } | null;
}
