import type { Accounts } from "../../../core/ports/accounts.ts";

/** The names of people; whoever has none, or is not known any more, is left out. */
export async function namesOfPeople(
  accounts: Pick<Accounts, "people">,
  userIds: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  if (userIds.length === 0) return new Map();
  const people = await accounts.people([...new Set(userIds)]);
  return new Map([...people].flatMap(([id, { name }]) => (name === "" ? [] : [[id, name] as const])));
}
