/** Where people go who were not on their way anywhere. */
const HOME = "/";

/**
 * Where to go after signing in, from a query or a form that anybody may have written: a path on this server, else the
 * home page. The path is taken from the parsed address, since parsers drop tabs and turn backslashes round.
 */
export function safeNext(next: string | null | undefined, baseUrl: string): string {
  if (next === null || next === undefined || !next.startsWith("/") || !URL.canParse(next, baseUrl))
    return HOME;
  const { origin, pathname, search } = new URL(next, baseUrl);
  if (origin !== new URL(baseUrl).origin || pathname.startsWith("//")) return HOME;
  return pathname + search;
}
