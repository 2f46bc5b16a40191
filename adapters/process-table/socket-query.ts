import { type ChildProcessByStdio, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { isIPv4 } from "node:net";
import type { Readable, Writable } from "node:stream";
import { withTimeout } from "../clock/with-timeout.ts";
import type { KernelSocket } from "./kernel-sockets.ts";

/** A socket by both of its ends. The addresses are of one family: IPv4, also in the form `::ffff:127.0.0.1`, or IPv6. */
export interface SocketEnds {
  readonly localAddress: string;
  readonly localPort: number;
  readonly remoteAddress: string;
  readonly remotePort: number;
}

/**
 * Asks the kernel for TCP sockets of this machine, in order. Null for a socket that it does not find, and for all of them if
 * it can't be asked. Never rejects.
 */
export type QuerySockets = (sockets: readonly SocketEnds[]) => Promise<readonly (KernelSocket | null)[]>;

interface SocketQueryOptions {
  /** The path of Perl. Default: where it is installed. */
  readonly program?: string;
  /** Time limit of a query, in milliseconds. */
  readonly timeoutMs?: number;
  /** A clock that never jumps, in milliseconds. */
  readonly monotonicMs?: () => number;
  /** Ends the program. */
  readonly signal?: AbortSignal;
}

/** Where Perl is installed. The search path is not used: the answer decides whose a connection is. */
const PLACES = ["/usr/bin/perl", "/bin/perl"];

const TIMEOUT_MS = 500;

/** How long the program is not started again after it failed or did not answer in time, in milliseconds. */
const REST_MS = 60_000;

/**
 * Reads queries from its input, those of a line at once, and writes a line with their answers: user, inode, or `-`.
 *
 * It sends `struct inet_diag_req_v2` for one socket, and reads `struct inet_diag_msg`. For IPv4, the kernel also finds an IPv6
 * socket with mapped addresses, and otherwise a listening socket (state 10) at the local end, which is no answer. Sources:
 * sock_diag(7), linux/inet_diag.h.
 */
const SCRIPT = `# Part of the meter: asks the kernel for TCP sockets.
use strict;
my ($netlink, $raw, $sockDiag, $tcp, $anyState, $listening) = (16, 3, 4, 6, 0xffffffff, 10);
socket(my $kernel, $netlink, $raw, $sockDiag) or exit 1;
$| = 1;
my $sequence = 0;
sub ask {
  my ($family, $local, $localPort, $remote, $remotePort) = split /,/, shift;
  my ($addresses, $prefix) = ("n2 a16 a16", "0" x 20 . "ffff");
  my $ends = pack($addresses, $localPort, $remotePort, pack("H*", $local), pack("H*", $remote));
  my $mapped = pack($addresses, $localPort, $remotePort, map { pack("H*", $prefix . $_) } $local, $remote);
  my $query = pack("C4 L", $family, $tcp, 0, 0, $anyState) . $ends . pack("L L2", 0, 0xffffffff, 0xffffffff);
  $sequence = ($sequence + 1) & 0xffffffff;
  send($kernel, pack("L S2 L2", 16 + length $query, 20, 1, $sequence, 0) . $query, 0) or exit 1;
  while (1) {
    defined recv($kernel, my $answer, 8192, 0) or exit 1;
    my (undef, $type, undef, $answered) = unpack("L S2 L", $answer);
    next if $answered != $sequence;
    return "-" if $type != 20;
    my (undef, $state, undef, undef, $found) = unpack("C4 a36", substr($answer, 16));
    my ($uid, $inode) = unpack("L2", substr($answer, 80));
    return $state != $listening && ($found eq $ends || $found eq $mapped) ? "$uid,$inode" : "-";
  }
}
while (my $line = <STDIN>) { print join(" ", map { ask($_) } split(" ", $line)), "\\n" }
`;

type Program = ChildProcessByStdio<Writable, Readable, null>;

/** A running program and the queries that it has not answered yet. */
interface Running {
  readonly child: Program;
  readonly waiting: ((line: string | null) => void)[];
}

/**
 * Creates the query of single sockets. It takes some 10 µs each however many sockets there are, while `/proc/net/tcp` takes 2 ms
 * to read with few of them. Node has no netlink sockets, so that a Perl program asks; it is started with the first query.
 */
export function createSocketQuery({
  program,
  timeoutMs = TIMEOUT_MS,
  monotonicMs = () => performance.now(),
  signal,
}: SocketQueryOptions = {}): QuerySockets {
  let running: Running | null = null;
  let restsUntilMs = Number.NEGATIVE_INFINITY;
  const find = () => program ?? PLACES.find((path) => existsSync(path)) ?? null;

  /** Ends the program, and lets the tables be read instead for a while. */
  function fail(failed: Running): void {
    failed.child.kill("SIGKILL");
    for (const resolve of failed.waiting.splice(0)) resolve(null);
    if (running !== failed) return;
    running = null;
    restsUntilMs = monotonicMs() + REST_MS;
  }

  function start(path: string): Running {
    const child = spawn(path, ["-e", SCRIPT], { cwd: "/", env: {}, stdio: ["pipe", "pipe", "ignore"] });
    const started: Running = { child, waiting: [] };
    child.on("error", () => fail(started));
    child.on("exit", () => fail(started));
    // Node creates no streams if too many files are open.
    for (const stream of [child.stdin, child.stdout]) stream.on("error", () => fail(started));
    readLines(child.stdout, (line) => started.waiting.shift()?.(line));
    signal?.addEventListener("abort", () => fail(started), { once: true });
    letProcessEnd(child);
    return started;
  }

  return async (sockets) => {
    const unknown = sockets.map(() => null);
    const queries = sockets.map(formatQuery);
    if (queries.includes(null) || signal?.aborted) return unknown;
    if (running === null) {
      const path = monotonicMs() < restsUntilMs ? null : find();
      if (path === null) return unknown;
      try {
        running = start(path);
      } catch {
        restsUntilMs = monotonicMs() + REST_MS;
        return unknown;
      }
    }
    const asked = running;
    const answer = new Promise<string | null>((resolve) => asked.waiting.push(resolve));
    asked.child.stdin.write(`${queries.join(" ")}\n`);
    const line = await withTimeout(answer, timeoutMs, () => {
      fail(asked);
      return null;
    });
    const answers = line?.split(" ") ?? [];
    return answers.length === sockets.length ? answers.map(readAnswer) : unknown;
  };
}

/** Lets this process end while the program runs. The program then reads the end of its input, and ends too. */
function letProcessEnd(child: Program): void {
  child.unref();
  for (const stream of [child.stdin, child.stdout]) (stream as { unref?(): void }).unref?.();
}

function readLines(stream: Readable, onLine: (line: string) => void): void {
  let text = "";
  stream.setEncoding("latin1");
  stream.on("data", (bytes: string) => {
    const lines = (text + bytes).split("\n");
    text = lines.pop() ?? "";
    for (const line of lines) onLine(line);
  });
}

const AF_INET = 2;
const AF_INET6 = 10;

/** Formats a query: family, then address and port of both ends. Null for addresses that are not supported. */
function formatQuery({ localAddress, localPort, remoteAddress, remotePort }: SocketEnds): string | null {
  const [local, remote] = [hexAddress(localAddress), hexAddress(remoteAddress)];
  if (local === null || remote === null || local.length !== remote.length) return null;
  return [local.length === 8 ? AF_INET : AF_INET6, local, localPort, remote, remotePort].join(",");
}

/** Returns the bytes of an address in hexadecimal. Of IPv6 it supports the loopback address, as the reader of the tables does. */
function hexAddress(address: string): string | null {
  if (address === "::1") return "1".padStart(32, "0");
  const plain = address.replace(/^::ffff:/i, "");
  if (!isIPv4(plain)) return null;
  return plain
    .split(".")
    .map((byte) => Number(byte).toString(16).padStart(2, "0"))
    .join("");
}

function readAnswer(answer: string): KernelSocket | null {
  const [, uid, inode] = /^(\d+),(\d+)$/.exec(answer) ?? [];
  return uid === undefined || inode === undefined ? null : { uid: Number(uid), inode };
}
