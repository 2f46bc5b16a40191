import { UsageError } from "clipanion";
import { normaliseSlug } from "../../../core/values/slug/normalise-slug.ts";
import { withStore } from "../../home/open-store.ts";
import { prepareHome } from "../../home/prepare-home.ts";
import type { CommandContext } from "../../program/command-context.ts";

/** The options of `meter project`. */
export interface SetBodyCaptureOptions {
  readonly slug: string;
  readonly words: readonly string[];
}

/** Turns body capture on or off for a project. */
export async function setBodyCapture(context: CommandContext, options: SetBodyCaptureOptions): Promise<void> {
  const [verb, key, value] = options.words;
  if (
    verb !== "set" ||
    key !== "body-capture" ||
    (value !== "on" && value !== "off") ||
    options.words.length > 3
  ) {
    throw new UsageError("Invalid arguments. Expected: set body-capture on|off.");
  }
  const project = normaliseSlug(options.slug);
  if (project === "")
    throw new UsageError(
      `Invalid project name: ${JSON.stringify(options.slug)}. Expected: at least one letter or digit.`,
    );
  const { home } = context;
  prepareHome(home);
  await withStore(home, { readOnly: false, create: true }, async (store) => {
    store.settings.setBodyCapture(project, value === "on", Date.now());
  });
  context.print(`Body capture is ${value} for ${project}.`);
}
