import type { CalendarDate, Millis } from "../../values/time.ts";
import type { DistrustFacts } from "./trust-advice.ts";

/** What a client on this machine did when it called a provider through a stand-in for the proxy. */
export type ClientOutcome =
  /** The call used the proxy and trusted the authority, so its calls are metered. */
  | "metered"
  /** The call did not use the proxy. */
  | "bypasses"
  /** The call did not use the proxy, and no variable can change that: the version is too old. */
  | "outdated"
  /** The call used the proxy and rejected the certificate. */
  | "distrusts"
  /** The call did not end in time, so it shows nothing. */
  | "timed_out"
  /** Not run, because it would need a login. It has the variables that it needs. */
  | "expected"
  /** Not run, and it lacks variables that it needs. */
  | "lacks_variables";

/** A client that was found on this machine. */
export interface ClientFacts {
  readonly name: string;
  /** The version that the client reports; null if it reports none. */
  readonly version: string | null;
  readonly outcome: ClientOutcome;
  /** The cause, if known, such as a runtime that is too old. */
  readonly why: string | null;
}

/** A connection from this machine to a provider that does not go through the meter. */
export interface BypassingConnection {
  readonly host: string;
  readonly pid: number | null;
  readonly program: string | null;
}

/** The input of `diagnose()`, as plain values. `null` means unknown unless stated otherwise. */
export interface DoctorFacts {
  readonly now: Millis;
  readonly platform: string;
  readonly meterHome: string;
  readonly version: string;
  readonly configWarnings: readonly string[];
  /** Why the configuration cannot be read, with the place in the file; null if it can be read. */
  readonly configProblem: string | null;
  /** Checks that did not finish in time, by name, with their time limit in seconds. */
  readonly overdue: Readonly<Record<string, number>>;
  /** A daemon that holds the home directory but does not respond; null if there is none. */
  readonly unresponsiveDaemon: {
    readonly pid: number | null;
    /** The state of `daemon.json`: `damaged`, or `stale` if it names another process. */
    readonly announcement?: "valid" | "absent" | "damaged" | "stale";
  } | null;
  readonly install: {
    readonly record: "absent" | "present" | "unreadable";
    readonly manager: string | null;
    readonly apps: boolean;
    /** Files, lines and variables that have changed since `init`. */
    readonly changed: readonly string[];
    /** A program that the service starts but that no longer exists. */
    readonly missingProgram: string | null;
    /** The number of steps that were started but not finished. */
    readonly unfinished: number;
  };
  /** Null if the daemon does not respond. */
  readonly daemon: {
    readonly version: string;
    readonly proxyPort: number;
    readonly capturing: boolean;
    /** Why the last record could not be stored; null if it is not known. */
    readonly storeProblem?: string | null;
    readonly watchdog: string;
    readonly endedUnused: number;
    readonly distrusting: readonly DistrustFacts[];
    readonly setAside: string | null;
  } | null;
  readonly proxy: {
    readonly configuredPort: number;
    /** Whether another program listens on the port. */
    readonly inUse: boolean;
  };
  /** The receiver of OpenTelemetry. Null if the daemon does not respond, or does not state it. */
  readonly telemetry: {
    /** Whether `config.toml` switches it on. */
    readonly configured: boolean;
    /** Its address; null if the daemon does not receive. */
    readonly address: string | null;
    readonly lastReportAt: Millis | null;
    readonly refused: number;
    /** Why the last payload was refused, as a sentence. */
    readonly lastRefusal: string | null;
  } | null;
  /** The budgets. Null if the daemon does not respond, or does not state them. */
  readonly budgets: {
    readonly count: number;
    /** The names of those whose records can't be read, that refuse calls, and that are used up and only warn. */
    readonly unread: readonly string[];
    readonly refusing: readonly string[];
    readonly usedUp: readonly string[];
    /** Calls that were sent since the daemon started although no decision was possible. */
    readonly letThrough: number;
    /** Whether the proxy has confirmed that it applies them. */
    readonly isConfirmed: boolean;
  } | null;
  /** Null if there is no daemon to test. */
  readonly selfTest: { readonly ok: boolean; readonly message: string } | null;
  readonly interception: "intercepted" | "not_intercepted" | "untrusted" | "offline" | null;
  readonly authority: {
    readonly state: "absent" | "current" | "hosts_changed" | "outdated" | "expiring" | "damaged";
    readonly validUntil: Millis | null;
    readonly keyOpenToOthers: boolean;
    /** Whether the key exists and can't be used. A daemon does not start with such a key, and does not replace it. */
    readonly keyDamaged?: boolean;
    /** Whether the trust stores of this user's programs contain the authority. */
    readonly systemTrusts: boolean | null;
    /** Whether `init` added it. */
    readonly trustRecorded: boolean;
    /** Who may replace the certificate: only `init` if programs trust it independently of `meter run`. */
    readonly replacedBy: "daemon" | "init";
    /** The providers' hosts that the certificate does not permit. Their calls pass unread. */
    readonly unpermittedHosts: readonly string[];
    /** The command that adds it, with root privileges if this user may not; null if none is known. */
    readonly trustCommand: string | null;
  };
  readonly shell: {
    readonly proxy: "meter" | "other" | "none";
    /** Providers' hosts that this shell's `NO_PROXY` excludes. */
    readonly exemptHosts: readonly string[];
    /** Variables that name a certificate file which is missing or lacks the authority. */
    readonly badTrustVariables: readonly string[];
    /** Whether the proxy variable lacks the password that the proxy demands, so that calls fail. */
    readonly lacksPassword: boolean;
    /** The variables file that `init --apps` wrote for this kind of shell; null if there is none. */
    readonly variablesFile: string | null;
  };
  readonly clients: readonly ClientFacts[];
  readonly bypassing: readonly BypassingConnection[];
  /** Descriptions of traffic to providers in the last 24 hours that was not metered. */
  readonly unmetered: readonly string[];
  readonly newestRate: CalendarDate | null;
  /** Whether a source of published rates is configured. */
  readonly ratesHaveSource: boolean;
  readonly database: {
    readonly state: "absent" | "ok" | "corrupt" | "older_schema" | "newer_schema" | "unreadable";
    readonly detail: string | null;
    /** The time of the newest request. */
    readonly newestRequestAt: Millis | null;
    /** How many requests the sums do not contain yet, so that reports read them one by one. */
    readonly unsummed: number | null;
    /** The total size of its files, in bytes. */
    readonly bytes: number;
    /** Whether every page was read. */
    readonly pages: "read" | "unread";
  };
  readonly freeDiskBytes: number | null;
  readonly cloud: {
    readonly banner: string;
    readonly reasons: readonly string[];
    /** A sentence about a ledger of the cloud that was rewritten. */
    readonly ledgerFault?: string | null;
  } | null;
}
