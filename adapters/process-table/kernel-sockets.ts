import type { CallerQuery } from "./caller-query.ts";

/** The inode of a socket that its process has closed. For such a socket, the kernel reports user 0. */
export const CLOSED_INODE = "0";

/** A socket of the kernel's table of connections. */
export interface KernelSocket {
  readonly inode: string;
  readonly uid: number;
}

interface Row extends KernelSocket {
  readonly localAddress: string;
  readonly remoteAddress: string;
  readonly remotePort: number;
}

/** The sockets of a table by their local port. */
type SocketIndex = ReadonlyMap<number, readonly Row[]>;

/** Fields: local address, remote address, state, queues, timer, retransmits, uid, timeout, inode. Source: proc(5). */
const ROW =
  /^ *\d+: ([0-9A-F]{8,32}):([0-9A-F]{4}) ([0-9A-F]{8,32}):([0-9A-F]{4}) [0-9A-F]{2} \S+ \S+ \S+ +(\d+) +\d+ (\d+)/gm;

/** Indexes the texts of `/proc/net/tcp` and `tcp6` by local port. */
export function indexSockets(tables: readonly string[], clientPorts: ReadonlySet<number>): SocketIndex {
  const index = new Map<number, Row[]>();
  for (const table of tables) {
    for (const [, localAddress, localPort, remoteAddress, remotePort, uid, inode] of table.matchAll(ROW)) {
      const port = Number.parseInt(localPort as string, 16);
      if (!clientPorts.has(port)) continue;
      addRow(index, port, {
        localAddress: localAddress as string,
        remoteAddress: remoteAddress as string,
        remotePort: Number.parseInt(remotePort as string, 16),
        uid: Number(uid),
        inode: inode as string,
      });
    }
  }
  return index;
}

function addRow(index: Map<number, Row[]>, port: number, row: Row): void {
  const rows = index.get(port);
  if (rows === undefined) index.set(port, [row]);
  else rows.push(row);
}

/** State, two queues, both ends, then `name:value` fields. Source: ss(8) of iproute2. */
const DIAGNOSED =
  /^\S+ +\d+ +\d+ +\[?([0-9a-fA-F.:]+?)\]?(?:%\S+)?:(\d+) +\[?([0-9a-fA-F.:*]+?)\]?(?:%\S+)?:(\d+)(?: |$)(.*)$/gm;

/** Indexes the output of `ss -tanHe` by local port. A socket of root (user 0) has no `uid`, and a closed one no inode. */
export function indexDiagnosedSockets(output: string): SocketIndex {
  const index = new Map<number, Row[]>();
  for (const [, local = "", localPort, remote = "", remotePort, fields = ""] of output.matchAll(DIAGNOSED)) {
    addRow(index, Number(localPort), {
      localAddress: kernelSpelling(local),
      remoteAddress: kernelSpelling(remote),
      remotePort: Number(remotePort),
      uid: Number(/(?:^| )uid:(\d+)/.exec(fields)?.[1] ?? 0),
      inode: /(?:^| )ino:(\d+)/.exec(fields)?.[1] ?? CLOSED_INODE,
    });
  }
  return index;
}

/** Returns an address as the table of its family spells it; empty if it is not supported. */
function kernelSpelling(address: string): string {
  return kernelSpellings(address)[/^::ffff:/i.test(address) ? 1 : 0] ?? "";
}

/**
 * Returns an address in the formats of `/proc/net/tcp` and `tcp6`: words of 32 bits in the machine's byte order, read as
 * little-endian. Local clients use IPv4 addresses or the IPv6 loopback address, so other addresses are not supported.
 */
function kernelSpellings(address: string): readonly string[] {
  if (address === "::1") return ["00000000000000000000000001000000"];
  const bytes = /^(?:::ffff:)?(\d+)\.(\d+)\.(\d+)\.(\d+)$/i.exec(address)?.slice(1).map(Number);
  if (bytes === undefined) return [];
  const hex = bytes
    .toReversed()
    .map((byte) => byte.toString(16).toUpperCase().padStart(2, "0"))
    .join("");
  return [hex, `0000000000000000FFFF0000${hex}`];
}

/**
 * Finds the socket at the client end; null if the table does not have it. The addresses are compared if they are known, because
 * another user may bind the same port at another address, such as 127.0.0.2, or use it towards another server. A closed socket is used only if no open one is
 * found.
 */
export function findSocket(index: SocketIndex, end: Omit<CallerQuery, "wantsProcess">): KernelSocket | null {
  const rows = index.get(end.clientPort) ?? [];
  const locals = end.clientAddress === null ? null : kernelSpellings(end.clientAddress);
  const remotes = end.serverAddress === undefined ? null : kernelSpellings(end.serverAddress);
  let closed: KernelSocket | null = null;
  for (const { localAddress, remoteAddress, remotePort, inode, uid } of rows) {
    if (end.serverPort !== null && remotePort !== end.serverPort) continue;
    if (locals !== null && !locals.includes(localAddress)) continue;
    if (remotes !== null && !remotes.includes(remoteAddress)) continue;
    if (inode !== CLOSED_INODE) return { inode, uid };
    closed = { inode, uid };
  }
  return closed;
}
