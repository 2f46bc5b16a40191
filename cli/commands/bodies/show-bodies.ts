import { UsageError } from "clipanion";
import { withStore } from "../../home/open-store.ts";
import type { CommandContext } from "../../program/command-context.ts";
import { CommandFailure, exitCodes } from "../../program/exit-codes.ts";
import { findRequest } from "../../records/find-request.ts";
import { forPrograms } from "../../render/for-programs.ts";
import { printable } from "../../render/printable.ts";

const sides = ["request", "response"] as const;

/** The options of `meter bodies show`. */
export interface ShowBodiesOptions {
  readonly id: string;
  readonly side: string | undefined;
  readonly leg: string | undefined;
  readonly json: boolean;
}

/** Prints the captured bodies of one request. */
export async function showBodies(context: CommandContext, options: ShowBodiesOptions): Promise<void> {
  const side = options.side ?? options.leg;
  if (side !== undefined && !sides.includes(side as (typeof sides)[number])) {
    throw new UsageError(`Invalid value for --side: ${side}. Expected: request or response.`);
  }
  await withStore(context.home, { readOnly: true }, async (store) => {
    const { requestId } = await findRequest(store.records, options.id);
    const bodies = store.bodies
      .read(requestId)
      .filter(({ direction }) => side === undefined || direction === side)
      .map(({ content, ...body }) => ({ ...body, text: new TextDecoder().decode(content) }));
    if (bodies.length === 0)
      throw new CommandFailure(
        "No body was captured for this request.\nCapture those of later requests: meter project <slug> set body-capture on",
        exitCodes.notFound,
      );
    if (options.json) return context.printJson(forPrograms(bodies));
    if (side !== undefined) return void context.stdout.write(bodies[0]?.text ?? "");
    for (const body of bodies) {
      const notes = [
        body.contentType ?? "no content type",
        `${body.originalSizeBytes} bytes`,
        ...(body.truncated ? ["truncated"] : []),
        ...(body.redactionApplied ? [`redacted: ${body.redactionSummary.join(", ")}`] : []),
      ];
      context.print(printable(`── ${body.direction} (${notes.join("; ")})`));
      context.printAsIs(body.text);
    }
  });
}
