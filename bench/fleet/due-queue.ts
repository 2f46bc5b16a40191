/** The next due time of each member of a fleet, earliest first: a binary heap with at most one entry per member. */
export interface DueQueue {
  /** Adds a member that has no entry. */
  add(member: number, at: number): void;
  /** The earliest due time; infinite if there is no entry. */
  next(): number;
  /** Removes the earliest entry and returns its member. There must be one. */
  take(): number;
}

/** Creates an empty queue for members 0 to `size` − 1. */
export function createDueQueue(size: number): DueQueue {
  const times = new Float64Array(size);
  const members = new Int32Array(size);
  let count = 0;

  function place(at: number, time: number, member: number): void {
    times[at] = time;
    members[at] = member;
  }

  /** Moves the entry from `at` towards the root until its parent is due earlier. */
  function rise(at: number, time: number, member: number): void {
    let index = at;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if ((times[parent] as number) <= time) break;
      place(index, times[parent] as number, members[parent] as number);
      index = parent;
    }
    place(index, time, member);
  }

  /** Moves the entry from the root towards the leaves until both children are due later. */
  function sink(time: number, member: number): void {
    let index = 0;
    for (let child = 1; child < count; child = 2 * index + 1) {
      if (child + 1 < count && (times[child + 1] as number) < (times[child] as number)) child += 1;
      if ((times[child] as number) >= time) break;
      place(index, times[child] as number, members[child] as number);
      index = child;
    }
    place(index, time, member);
  }

  return {
    add(member, at) {
      count += 1;
      rise(count - 1, at, member);
    },
    next: () => (count === 0 ? Number.POSITIVE_INFINITY : (times[0] as number)),
    take() {
      const member = members[0] as number;
      count -= 1;
      sink(times[count] as number, members[count] as number);
      return member;
    },
  };
}
