/** How many hosts are named at most. */
const MAX_NAMED = 3;

/** Describes the hosts that are not metered until the trusted certificate has been renewed. */
export function describeAddedHosts(hosts: readonly string[]): string {
  const named = hosts.slice(0, MAX_NAMED).join(", ");
  const more = hosts.length > MAX_NAMED ? ` and ${hosts.length - MAX_NAMED} more` : "";
  const [what, whose] =
    hosts.length === 1
      ? ["1 provider host that was added is", "Its"]
      : [`${hosts.length} provider hosts that were added are`, "Their"];
  return `${what} not metered yet: ${named}${more}. ${whose} calls work and are in no total.`;
}
