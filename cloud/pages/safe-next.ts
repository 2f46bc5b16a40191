/** Where people go after signing in if no page was requested. */
const HOME = "/";

/**
 * Returns where to go after signing in: a path on this server, or the home page for anything else. `next` comes from a query
 * or a form and is untrusted. The path is read from the parsed URL, since parsers drop tabs and turn backslashes into slashes.
 */
export function safeNext(next: string | null | undefined, baseUrl: string): string {
  if (next === null || next === undefined || !next.startsWith("/") || !URL.canParse(next, baseUrl))
    return HOME;
  const { origin, pathname, search } = new URL(next, baseUrl);
  if (origin !== new URL(baseUrl).origin || pathname.startsWith("//")) return HOME;
  return pathname + search;
}
