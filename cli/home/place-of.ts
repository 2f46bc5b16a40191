import { hostname, userInfo } from "node:os";
import type { CallFacts } from "../../core/budgets/budget.ts";

/** Returns the machine and the person that a budget's scope can name: the host name and the name of this user. */
export function placeOf(machine: string = hostname()): CallFacts {
  return { machine, person: userName() };
}

/** Returns the name of this user, or its number if it has no name. */
export function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return `${process.getuid?.() ?? "unknown"}`;
  }
}
