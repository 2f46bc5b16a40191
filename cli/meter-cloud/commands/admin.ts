import { Command, Option } from "clipanion";
import { CommandFailure } from "../../exit-codes.ts";
import { unreadable } from "../../render/unreadable.ts";
import { CloudCommand } from "../cloud-command.ts";
import { cloudExitCodes } from "../exit-codes.ts";

const MAX_PASSWORD_FILE_BYTES = 4_096;

/** Bytes of a password that is made here: 96 random bits. */
const MADE_PASSWORD_BYTES = 12;

export class AdminCreateUserCommand extends CloudCommand {
  static override paths = [["admin", "create-user"]];
  static override usage = Command.Usage({
    category: "People",
    description: "make an account, with an organisation and a workspace of its own",
    details: `
      For the first account of a server that nobody should be able to sign up on, and for people whom you know. The
      password comes from a file, whose first line counts; without one, a password is made and shown once.

      On the embedded database, stop the server first.
    `,
    examples: [
      ["With a password that is made", "meter-cloud admin create-user --email ann@example.com --name Ann"],
      [
        "With one of yours",
        "meter-cloud admin create-user --email ann@example.com --name Ann --password-file password.txt",
      ],
    ],
  });

  email = Option.String("--email", {
    required: true,
    description: "the address that the person signs in with",
  });
  name = Option.String("--name", "", { description: "what the person is called" });
  passwordFile = Option.String("--password-file", { description: "a file whose first line is the password" });
  json = Option.Boolean("--json", false, { description: "for programs" });

  protected override async perform(): Promise<void> {
    const { createUser } = await import("../../../cloud/mod.ts");
    const { randomBytes } = await import("node:crypto");
    const { email, name } = this;
    const given = this.passwordFile === undefined ? null : await readPassword(this.passwordFile);
    const password = given ?? randomBytes(MADE_PASSWORD_BYTES).toString("base64url");
    const made = await this.withAdministration((parts) => createUser(parts, { email, name, password }));
    if (!made.ok) throw new CommandFailure(REFUSALS[made.reason]);
    const shown = given === null ? password : null;
    if (this.json) {
      this.printJson({
        ...{ user_id: made.userId, organisation_id: made.organisationId, workspace_id: made.workspaceId },
        ...(shown === null ? {} : { password: shown }),
      });
    } else {
      this.print(`Made the account of ${email}, with workspace ${made.workspaceId}.`);
      if (shown !== null) this.print(`Password, shown this once: ${shown}`);
    }
  }
}

const REFUSALS = {
  email_taken: "there is an account of that address already",
  email_malformed: "that is no e-mail address",
  password_refused: "the password must have 12 to 128 characters",
} as const;

async function readPassword(path: string): Promise<string> {
  const { readSmallFile } = await import("../../../adapters/files/mod.ts");
  const file = await readSmallFile(path, { maxBytes: MAX_PASSWORD_FILE_BYTES });
  if (!file.ok) throw new CommandFailure(unreadable(path, file.reason));
  return file.text.split(/\r?\n/, 1)[0] ?? "";
}

export class AdminSetPlanCommand extends CloudCommand {
  static override paths = [["admin", "set-plan"]];
  static override usage = Command.Usage({
    category: "People",
    description: "put a workspace on a plan",
    details: "At once, and written into the workspace's audit events. Nothing is deleted, whatever the plan.",
    examples: [["Team", "meter-cloud admin set-plan 01994b8e-7c00-7000-8000-000000000000 team"]],
  });

  workspace = Option.String({ name: "workspace" });
  plan = Option.String({ name: "plan" });
  json = Option.Boolean("--json", false, { description: "for programs" });

  protected override async perform(): Promise<void> {
    const { systemClock } = await import("../../../adapters/clock/mod.ts");
    const { setPlan } = await import("../../../cloud/mod.ts");
    const { isPlan, PLANS } = await import("../../../core/plans/mod.ts");
    const { plan } = this;
    const workspaceId = await this.workspaceId(this.workspace);
    if (!isPlan(plan)) {
      throw new CommandFailure(`the plans are ${PLANS.join(", ")}: ${plan}`, cloudExitCodes.usage);
    }
    const set = await this.withDatabase(({ db }) => setPlan({ db, clock: systemClock }, workspaceId, plan));
    if (set === null) throw new CommandFailure("there is no such workspace", cloudExitCodes.notFound);
    if (this.json) this.printJson({ workspace_id: workspaceId, plan: set.plan });
    else this.print(`Workspace ${workspaceId} is on the plan ${set.plan}.`);
  }
}

export class AdminListCommand extends CloudCommand {
  static override paths = [["admin", "list"]];
  static override usage = Command.Usage({
    category: "People",
    description: "the workspaces that a person reaches",
    examples: [["By the address that they sign in with", "meter-cloud admin list ann@example.com"]],
  });

  email = Option.String({ name: "email" });
  json = Option.Boolean("--json", false, { description: "for programs" });

  protected override async perform(): Promise<void> {
    const { listWorkspacesOf } = await import("../../../cloud/mod.ts");
    const found = await this.withAdministration((parts) => listWorkspacesOf(parts, this.email));
    if (found === null)
      throw new CommandFailure("there is no account of that address", cloudExitCodes.notFound);
    if (this.json) {
      return this.printJson(
        found.map(({ workspaceId, name, plan, role }) => ({ workspace_id: workspaceId, name, plan, role })),
      );
    }
    const { renderTable } = await import("../../render/table.ts");
    return this.print(
      renderTable(
        [{ title: "workspace" }, { title: "name", shrink: true }, { title: "plan" }, { title: "role" }],
        found.map(({ workspaceId, name, plan, role }) => [workspaceId, name, plan, role]),
        this.width,
      ),
    );
  }
}
