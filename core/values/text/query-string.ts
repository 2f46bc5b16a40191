/** Joins query strings without their question mark. Empty ones are left out. */
export const joinQueries = (...queries: readonly string[]): string =>
  queries.filter((query) => query !== "").join("&");

/** Returns a path with query strings, without a question mark if all are empty. */
export function addQueries(path: string, ...queries: readonly string[]): string {
  const query = joinQueries(...queries);
  return query === "" ? path : `${path}?${query}`;
}
