import process from "node:process";
import type { ConnectionOwners, LocalConnection } from "../../core/ports/connection-owner.ts";
import { createTableReader, hexPort } from "./linux.ts";

/** The kernel writes its table in pieces, so that a connection may slip through one reading of it: so many are tried. */
const READINGS = 3;

/** Where procfs is mounted, and who we are. */
export interface LinuxConnectionOwnersOptions {
  readonly proc?: string;
  readonly ownUid?: number | undefined;
}

/**
 * An address as `/proc/net/tcp` and `tcp6` write it: words of 32 bits in the machine's byte order, taken as little-endian.
 * Only addresses that a client on this machine connects to us from matter: IPv4, and IPv6's one loopback address.
 */
function kernelSpellings(address: string): readonly string[] {
  if (address === "::1") return ["00000000000000000000000001000000"];
  const bytes = /^(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(address)?.slice(1).map(Number);
  if (bytes === undefined) return [];
  const hex = bytes
    .toReversed()
    .map((byte) => byte.toString(16).toUpperCase().padStart(2, "0"))
    .join("");
  return [hex, `0000000000000000FFFF0000${hex}`];
}

/**
 * The user of the client's end of a connection, from the text of `/proc/net/tcp` or `tcp6` (proc(5)); null where there is
 * none. The address counts too: somebody may take another one, 127.0.0.2, with the port of a connection of ours.
 */
export function findOwner(table: string, { clientAddress, ...ports }: LocalConnection): number | null {
  const remotePort = `:${hexPort(ports.serverPort)}`;
  for (const address of kernelSpellings(clientAddress)) {
    const local = ` ${address}:${hexPort(ports.clientPort)} `;
    for (let at = table.indexOf(local); at !== -1; at = table.indexOf(local, at + 1)) {
      const end = table.indexOf("\n", at);
      // Fields: local address, remote address, state, queues, timer, retransmits, uid, timeout, inode.
      const fields = table
        .slice(at, end === -1 ? table.length : end)
        .trim()
        .split(/\s+/);
      const [localAddress, remoteAddress, , , , , uid, , inode] = fields;
      // An inode of 0: nobody holds it any more, and the user stands at 0 too.
      if (` ${localAddress} ` !== local || inode === undefined || inode === "0") continue;
      if (remoteAddress?.endsWith(remotePort) === true) return Number(uid);
    }
  }
  return null;
}

/** Owners on Linux, from the kernel's tables of connections, which state the user of each socket, other users' too. */
export function createLinuxConnectionOwners({
  proc = "/proc",
  ownUid = process.geteuid?.(),
}: LinuxConnectionOwnersOptions = {}): ConnectionOwners {
  const tables = [createTableReader(`${proc}/net/tcp`), createTableReader(`${proc}/net/tcp6`)];
  return {
    async ownerOf(connection) {
      for (let reading = 0; reading < READINGS; reading++) {
        for (const readTable of tables) {
          const uid = findOwner(await readTable(), connection);
          if (uid !== null) return uid === ownUid ? "self" : "other";
        }
      }
      return "unknown";
    },
  };
}

/** The owners of connections on this platform; null where it has no quick way to tell them. */
export function createConnectionOwners(platform: string = process.platform): ConnectionOwners | null {
  return platform === "linux" || platform === "android" ? createLinuxConnectionOwners() : null;
}
