const SEMI_SPACE_OPTION = "--max-semi-space-size=2";

/**
 * Variables that limit the resident memory of the daemon's process. Systems and runtimes ignore variables that they do not
 * know.
 *
 * - glibc: without these, the buffers of short connections fragment one arena per thread, and no memory is returned to the
 *   system. Sizes are in bytes. Source: mallopt(3).
 * - V8: the young generation grows with the rate of calls, up to 128 MiB, and does not shrink. 2 MiB per semi-space needs
 *   no more CPU time here, because nearly everything that a call allocates is garbage when the call ends.
 */
export const memoryLimits: Readonly<Record<string, string>> = {
  MALLOC_ARENA_MAX: "2",
  MALLOC_TRIM_THRESHOLD_: "131072",
  MALLOC_MMAP_THRESHOLD_: "60000",
  NODE_OPTIONS: SEMI_SPACE_OPTION,
};

type Environment = Readonly<Record<string, string | undefined>>;

/** Returns the environment with the limits. Variables that it sets itself take precedence. */
export function withMemoryLimits(env: Environment): Record<string, string | undefined> {
  const nodeOptions = `${SEMI_SPACE_OPTION} ${env.NODE_OPTIONS ?? ""}`.trim();
  return { ...memoryLimits, ...env, NODE_OPTIONS: nodeOptions };
}

/** Whether the environment sets any of the limits itself. */
export const setsMemoryLimits = (env: Environment): boolean =>
  /--max[-_]semi[-_]space[-_]size/.test(env.NODE_OPTIONS ?? "") ||
  Object.keys(memoryLimits).some((name) => name !== "NODE_OPTIONS" && env[name] !== undefined);
