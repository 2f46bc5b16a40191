/** A program that seems not to trust the meter's certificate. */
export interface DistrustFacts {
  readonly name: string;
  /** The name of its process, such as `node`. */
  readonly runtime: string;
  readonly host: string;
  /** Connections that it ended with a TLS alert about the certificate. */
  readonly rejected: number;
  /** Connections that it ended before a request, without an alert. */
  readonly unused: number;
  /** Whether its calls to other hosts are metered. Older daemons do not state it. */
  readonly trustsEarlier?: boolean;
}

/** Runtimes by name, and what makes each trust more certificates. */
const FIXES: readonly (readonly [runtime: RegExp, fix: (caFile: string) => string])[] = [
  [
    /^(?:node|nodejs|npx|tsx|ts-node|bun|bunx|claude|electron)$/i,
    (caFile) => `Set NODE_EXTRA_CA_CERTS to ${caFile} where it is started.`,
  ],
  [/^deno$/i, (caFile) => `Set DENO_CERT to ${caFile} where it is started.`],
  [/^java$/i, (caFile) => `Import ${caFile} into its key store with keytool.`],
  [/^wget$/i, (caFile) => `Run it with --ca-certificate=${caFile}.`],
  [
    /^(?:python|pypy|uv|uvx|pipx)[\d.]*w?$/i,
    () => "It reads REQUESTS_CA_BUNDLE and SSL_CERT_FILE, which meter run and meter init --apps set.",
  ],
  [/^curl$/i, () => "It reads CURL_CA_BUNDLE, which meter run and meter init --apps set."],
  [/^codex$/i, () => "It reads CODEX_CA_CERTIFICATE, which meter run and meter init --apps set."],
  [/^aws$/i, () => "It reads AWS_CA_BUNDLE, which meter run and meter init --apps set."],
];

const otherFix = () =>
  "Most programs read SSL_CERT_FILE, which meter run and meter init --apps set, or the system's certificates.";

/** Describes a program that does not trust the certificate: what was seen, and the fix for its runtime. */
export function describeDistrust(
  { name, runtime, host, rejected, unused, trustsEarlier = false }: DistrustFacts,
  caFile: string,
): { readonly text: string; readonly command: string } {
  const title = name === runtime ? name : `${name} (${runtime})`;
  const connections = (count: number) => `${count} ${count === 1 ? "connection" : "connections"} to ${host}`;
  const seen =
    rejected > 0
      ? `${title} rejected the meter's certificate on ${connections(rejected)}, so its calls fail.`
      : `${title} ended ${connections(unused)} before a request. It may not trust the meter's certificate.`;
  if (trustsEarlier)
    return {
      text: `${title} ${rejected > 0 ? "trusts" : "may trust"} an earlier certificate of the meter, which does not cover ${host}: it ended ${connections(rejected + unused)}, and its calls to other hosts are metered. It was started before the host was added. Start it again:`,
      command: "meter run -- <command>",
    };
  const fix = FIXES.find(([pattern]) => pattern.test(runtime.replace(/\.exe$/i, "")))?.[1] ?? otherFix;
  return { text: `${seen} ${fix(caFile)} Or run it with:`, command: "meter run -- <command>" };
}
