const UNITS = ["KiB", "MiB", "GiB"];

/** Formats a size in bytes, KiB, MiB or GiB, whichever gives at least one digit before the point. */
export function formatBytes(bytes: number): string {
  if (bytes < 1024) return `${bytes} ${bytes === 1 ? "byte" : "bytes"}`;
  const unit = Math.min(Math.floor(Math.log2(bytes) / 10), UNITS.length);
  return `${(bytes / 1024 ** unit).toFixed(1)} ${UNITS[unit - 1]}`;
}
