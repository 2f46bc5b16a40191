import process from "node:process";

/** Runs the work in a time zone; a runtime that ignores a change of TZ would fail the first assertion. */
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
