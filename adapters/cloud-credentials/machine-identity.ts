import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { hostname, networkInterfaces } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { deriveFingerprint, isFingerprint } from "../../core/delivery/fingerprint/derive-fingerprint.ts";
import type { MachineIdentity } from "../../core/ports/cloud-credentials.ts";
import { sha256 } from "../crypto/node-crypto.ts";
import { readSmallFile } from "../files/read-small-file.ts";
import { writeFileAtomic } from "../files/write-file-atomic.ts";
import { type RunCommand, runCommand } from "../process-table/run-command.ts";

/** The fingerprint's file in the meter's home. Source: docs/specification.md#local-state-tables. */
const MACHINE_ID_FILE = "machine-id";

/** Files with the installation's id on Linux: systemd's, then D-Bus's older one. */
const LINUX_ID_FILES = ["/etc/machine-id", "/var/lib/dbus/machine-id"];

/** Overrides for tests. */
interface MachineIdentityOptions {
  readonly platform?: NodeJS.Platform;
  readonly run?: RunCommand;
  readonly idFiles?: readonly string[];
}

/** Creates the identity of this machine, cached in the home. Never fails: an unreadable source is skipped. */
export function createMachineIdentity(home: string, options: MachineIdentityOptions = {}): MachineIdentity {
  const { platform = process.platform, run = runCommand, idFiles = LINUX_ID_FILES } = options;
  const path = join(home, MACHINE_ID_FILE);
  const host = hostname().slice(0, 255) || "unknown";

  async function find(): Promise<string | null> {
    const cached = await readSmallFile(path, { maxBytes: 64, secret: true });
    if (cached.ok && isFingerprint(cached.text.trim())) return cached.text.trim();
    const platformId = await readPlatformId(platform, run, idFiles).catch(() => null);
    const found = deriveFingerprint({ platformId, hostname: host, mac: firstMac() }, sha256);
    // The file there is not the meter's, so it is not used or replaced, and the identity is determined again each time.
    if (found !== null && (cached.ok || cached.reason === "absent") && existsSync(home)) {
      try {
        writeFileAtomic(path, `${found}\n`, { mode: 0o600 });
      } catch {
        // The cache is optional.
      }
    }
    return found;
  }

  return { hostname: host, platform, fingerprint: () => find().catch(() => null) };
}

async function readPlatformId(
  platform: NodeJS.Platform,
  run: RunCommand,
  idFiles: readonly string[],
): Promise<string | null> {
  switch (platform) {
    case "darwin":
      return (
        /"IOPlatformUUID"\s*=\s*"([^"]+)"/.exec(
          await run("/usr/sbin/ioreg", ["-rd1", "-c", "IOPlatformExpertDevice"]),
        )?.[1] ?? null
      );
    case "win32":
      return (
        /MachineGuid\s+REG_SZ\s+(\S+)/i.exec(
          await run("reg", [
            "query",
            "HKLM\\SOFTWARE\\Microsoft\\Cryptography",
            "/v",
            "MachineGuid",
            "/reg:64",
          ]),
        )?.[1] ?? null
      );
    default:
      for (const file of idFiles) {
        const text = (await readFile(file, "utf8").catch(() => "")).trim();
        if (text !== "") return text;
      }
      return null;
  }
}

/** Returns the smallest MAC address, so that the order of the network interfaces does not matter. */
function firstMac(): string | null {
  try {
    const cards = Object.values(networkInterfaces()).flatMap((card) => card ?? []);
    const macs = cards.filter((card) => !card.internal && !/^[0:]*$/.test(card.mac)).map((card) => card.mac);
    return macs.sort()[0] ?? null;
  } catch {
    return null;
  }
}
