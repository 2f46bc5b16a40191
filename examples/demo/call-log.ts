/** The result of one SDK call, as seen by the program that made it. */
export interface CallOutcome {
  name: string;
  ok: boolean;
  /** The number of HTTP requests that the SDK is expected to send. */
  requests: number;
  /** The provider's id of the response, if it has one. */
  responseId: string | null;
  /** The usage object as the SDK parsed it. */
  usage: unknown;
  error: { name: string; status: number | null; message: string } | null;
}

/** What a call reports to the log. */
export interface Seen {
  responseId?: string | null | undefined;
  usage?: unknown;
}

/** Creates a log that runs calls one after another and prints their outcomes as one line of JSON at the end. */
export function createCallLog() {
  const calls: CallOutcome[] = [];
  return {
    /** Makes one call. An error is also an outcome. */
    async run(name: string, call: () => Promise<Seen>, requests = 1): Promise<void> {
      try {
        const seen = await call();
        calls.push({
          name,
          ok: true,
          requests,
          responseId: seen.responseId ?? null,
          usage: seen.usage ?? null,
          error: null,
        });
      } catch (thrown) {
        const error = thrown instanceof Error ? thrown : new Error(String(thrown));
        const status: unknown = Reflect.get(error, "status");
        calls.push({
          name,
          ok: false,
          requests,
          responseId: null,
          usage: null,
          error: {
            name: error.constructor.name,
            status: typeof status === "number" ? status : null,
            message: error.message.slice(0, 200),
          },
        });
      }
    },
    print(): void {
      process.stdout.write(`${JSON.stringify(calls)}\n`);
    },
  };
}
