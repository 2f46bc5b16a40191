import process from "node:process";

/** Runs the work in a time zone. On a runtime that ignores a change of TZ, the first assertion would fail. */
export async function inZone(zone: string, work: () => void | Promise<void>): Promise<void> {
  const before = process.env.TZ;
  process.env.TZ = zone;
  try {
    await work();
  } finally {
    if (before === undefined) delete process.env.TZ;
    else process.env.TZ = before;
  }
}
