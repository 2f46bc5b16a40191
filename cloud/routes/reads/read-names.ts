import type { Accounts } from "../../../core/ports/accounts.ts";

/** Reads the names of people by user id, without those who have no name or no longer exist. */
export async function readNames(
  accounts: Pick<Accounts, "getPeople">,
  userIds: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  if (userIds.length === 0) return new Map();
  const people = await accounts.getPeople([...new Set(userIds)]);
  return new Map([...people].flatMap(([id, { name }]) => (name === "" ? [] : [[id, name] as const])));
}
