/**
 * Converts a value to the form that `--json` prints: names in snake case, times (numbers whose name ends in `At` or `From`)
 * as ISO 8601 in UTC. Not for objects whose keys are data, such as project names.
 */
export function forPrograms(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(forPrograms);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => {
      const key = name.replaceAll(/[A-Z]|(?<=[a-z])\d/g, (letter) => `_${letter.toLowerCase()}`);
      const isInstant = /_(at|from)$/.test(key) && typeof inner === "number";
      return [key, isInstant ? new Date(inner).toISOString() : forPrograms(inner)];
    }),
  );
}
